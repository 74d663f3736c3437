// SPDX-License-Identifier: Apache-2.0
// Weights of e4m3 by inputs of e4m3: one scale a row and a token for whole sums, or scales of each
// 128 columns.
#include "kernels/cuda/linear_rows_sm90.cuh"

namespace ingot::cuda {

template <bool kSpans>
struct E4m3Tiles : Ungated<!kSpans> {
  using Element = __nv_fp8_e4m3;
  using Sum = float;
  static constexpr bool kIsE4m3 = true;
  static constexpr bool kHasSpans = kSpans;
  static constexpr bool kScalesSums = !kSpans;
  static constexpr bool kHasShifts = false;
  static __device__ float output(float sum, const OutputScales& scales, float factor) {
    return fmaf(sum, kSpans ? factor : scales.row * scales.token * factor, scales.bias);
  }
};

void launch_e4m3_tiles(const RowsTask& task, const RowsGrid& grid, Stream stream) {
  if (task.x.spans > 0) return launch_rows_sm90<E4m3Tiles<true>>(task, grid, stream);
  launch_rows_sm90<E4m3Tiles<false>>(task, grid, stream);
}

}  // namespace ingot::cuda

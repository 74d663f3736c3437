// SPDX-License-Identifier: Apache-2.0
// Weights of f16 and bf16 by inputs of the same type.
#include "kernels/cuda/linear_rows_sm90.cuh"

namespace ingot::cuda {

template <class Type>
struct HalfTiles : Ungated<false> {
  using Element = Type;
  using Sum = float;
  static constexpr bool kIsE4m3 = false;
  static constexpr bool kHasSpans = false;
  static constexpr bool kScalesSums = false;
  static constexpr bool kHasShifts = false;
  static __device__ float output(float sum, const OutputScales& scales, float factor) {
    return fmaf(sum, factor, scales.bias);
  }
};

void launch_half_tiles(ElementType type, const RowsTask& task, const RowsGrid& grid,
                       Stream stream) {
  if (type == ElementType::kF16) return launch_rows_sm90<HalfTiles<__half>>(task, grid, stream);
  launch_rows_sm90<HalfTiles<__nv_bfloat16>>(task, grid, stream);
}

}  // namespace ingot::cuda

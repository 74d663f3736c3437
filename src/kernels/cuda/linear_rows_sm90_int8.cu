// SPDX-License-Identifier: Apache-2.0
// Weights of int8 by inputs of int8 (W8A8). Sums are whole numbers to the end, so that any order
// gives the same.
#include "kernels/cuda/linear_rows_sm90.cuh"

namespace ingot::cuda {

struct Int8Tiles : Ungated<true> {
  using Element = int8_t;
  using Sum = int32_t;
  static constexpr bool kIsE4m3 = false;
  static constexpr bool kHasSpans = false;
  static constexpr bool kScalesSums = true;
  static constexpr bool kHasShifts = true;
  static __device__ float output(int32_t sum, const OutputScales& scales, float) {
    return output_of(static_cast<float>(sum), scales);
  }
};

void launch_int8_tiles(const RowsTask& task, const RowsGrid& grid, Stream stream) {
  launch_rows_sm90<Int8Tiles>(task, grid, stream);
}

}  // namespace ingot::cuda

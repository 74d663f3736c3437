// SPDX-License-Identifier: Apache-2.0
// Weights of int8 in rows (W8A8). Sums are whole numbers to the end, so that any order gives the
// same.
#include "kernels/cuda/linear_rows.cuh"
#include "kernels/cuda/mma_int8.cuh"
#include "kernels/cuda/outputs.cuh"

namespace ingot::cuda {
namespace {

struct Int8Rows : Ungated<true> {
  using Input = int8_t;
  using Sum = int;
  static constexpr int kElementBytes = 1;
  static constexpr bool kHasScales = false;
  static constexpr bool kScalesSums = true;

  static __device__ void multiply(int (&sum)[4], uint4 row0, uint4 row1, const uint4 (&x)[1]) {
    multiply_32<true>(sum, row0.x, row1.x, row0.y, row1.y, x[0].x, x[0].y);
    multiply_32<true>(sum, row0.z, row1.z, row0.w, row1.w, x[0].z, x[0].w);
  }

  static __device__ float finish(const LinearParts& parts, const FloatInput& x, RowPlace at,
                                 float row_scale, int token, int sum) {
    const LinearPart& part = parts.part[at.part];
    const bool has_shifts = parts.shifts != nullptr;
    const OutputScales scales{.row = row_scale,
                              .token = x.scales[token],
                              .shift = has_shifts ? parts.shifts[token] : 0,
                              .row_sum = has_shifts ? parts.row_sums[at.part][at.row] : 0,
                              .bias = part.bias == nullptr ? 0 : part.bias[at.row]};
    return output_of(static_cast<float>(sum), scales);
  }
};

}  // namespace

void linear_int8(const LinearParts& parts, const FloatInput& x, Stream stream) {
  launch_rows<Int8Rows>(parts, x, stream);
}

}  // namespace ingot::cuda

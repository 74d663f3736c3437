// SPDX-License-Identifier: Apache-2.0
// One output of codes: the same arithmetic wherever its sum was made, so that whole sums give the
// same bits by every kernel.
#pragma once

namespace ingot::cuda {

struct OutputScales {
  float row;
  float token;
  float shift;    // of the token
  float row_sum;  // 0 where there are no shifts
  float bias;     // 0: none
};

__device__ inline float output_of(float sum, const OutputScales& scales) {
  const float value = __fmul_rn(sum, __fmul_rn(scales.row, scales.token));
  return __fadd_rn(__fmaf_rn(-scales.shift, scales.row_sum, value), scales.bias);
}

}  // namespace ingot::cuda

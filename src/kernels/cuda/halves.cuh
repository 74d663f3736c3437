// SPDX-License-Identifier: Apache-2.0
// Numbers packed to 16 bits: bf16, or f16, of which larger numbers become the largest.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace ingot::cuda {

__device__ inline uint32_t two_halves(bool is_bf16, float low, float high) {
  if (is_bf16) {
    const __nv_bfloat162 two = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&two);
  }
  const auto bounded = [](float value) {
    return isnan(value) ? value : fminf(fmaxf(value, -65504.0f), 65504.0f);
  };
  const __half2 two = __floats2half2_rn(bounded(low), bounded(high));
  return *reinterpret_cast<const uint32_t*>(&two);
}

}  // namespace ingot::cuda

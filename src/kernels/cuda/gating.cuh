// SPDX-License-Identifier: Apache-2.0
// The end of a launch that multiplies by gate and up together (Gating in linear.h): their outputs
// become one, written as f32 and, where the layer behind reads them so, in 16 bits.
#pragma once

#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/halves.cuh"
#include "kernels/cuda/linear.h"

namespace ingot::cuda {

__device__ inline float gated(float gate, float up) {
  return activated(Activation::kSilu, gate) * up;
}

// Columns in their own order only.
__device__ inline void store_gated(const LinearParts& parts, int64_t token, int row, float value) {
  const LinearPart& part = parts.part[1];
  part.y[token * part.y_stride + row] = value;
  const Gating& to = parts.gating;
  if (to.halves == nullptr) return;
  to.halves[token * to.stride + row] = static_cast<uint16_t>(two_halves(to.is_bf16, value, 0));
}

// Four rows from `row` on, a multiple of four; there are `count` of them: all, where there are
// halves to be written, whose rows are multiples of 128.
__device__ inline void store_gated(const LinearParts& parts, int64_t token, int row, int count,
                                   const float (&values)[4]) {
  const LinearPart& part = parts.part[1];
  const Gating& to = parts.gating;
  float* const y = part.y + token * part.y_stride + row;
  if (count >= 4 && reinterpret_cast<uintptr_t>(y) % 16 == 0) {
    *reinterpret_cast<float4*>(y) = make_float4(values[0], values[1], values[2], values[3]);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i < count) y[i] = values[i];
    }
  }
  if (to.halves == nullptr) return;
  uint16_t* const halves = to.halves + token * to.stride;
  if (to.order == SlotOrder::kPlain) {
    *reinterpret_cast<uint2*>(halves + row) = make_uint2(
        two_halves(to.is_bf16, values[0], values[1]), two_halves(to.is_bf16, values[2], values[3]));
    return;
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
    *reinterpret_cast<uint32_t*>(halves + slot_of(to.order, row + i)) =
        two_halves(to.is_bf16, values[i], values[i + 2]);
}

}  // namespace ingot::cuda

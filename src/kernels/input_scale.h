// SPDX-License-Identifier: Apache-2.0
// The scale of some inputs from the least and the largest of them: arithmetic that every target
// does alike. In an anonymous namespace on purpose: it is built once for each target.
#pragma once

#include <cstdint>
#include <cstring>

#include "tensor/input_quant.h"

namespace ingot {
namespace {

constexpr float kLargestE4m3 = 448;
// Below it the scale could be a denormal; nothing a float sum could see is lost.
constexpr float kSmallestInput = 0x1p-110F;

struct InputScale {
  float scale;  // NaN where an input was none or infinite, 0 where all are zeros
  float zero;
  bool is_usable;  // not: all codes are zero
};

inline uint32_t float_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// The least power of two that is not less.
inline float power_above(float value) {
  const uint32_t bits = (float_bits(value) + 0x7FFFFF) & 0xFF800000u;
  float power;
  std::memcpy(&power, &bits, sizeof(power));
  return power;
}

// To the nearest whole number, ties to even, for |value| < 2^22.
inline float nearest(float value) {
  constexpr float kShift = 0x1.8p23F;
  return (value + kShift) - kShift;
}

// `largest_bits` is max |x| compared as bits, so that a NaN is larger than everything; `least` and
// `most` are needed for int8 with zero points of its own only.
inline InputScale input_scale(const InputQuant& quant, uint32_t largest_bits, float least,
                              float most) {
  if (largest_bits >= 0x7F800000u) return {__builtin_nanf(""), 0, false};
  if (quant.scale > 0) return {quant.scale, static_cast<float>(quant.zero), true};
  float largest;
  std::memcpy(&largest, &largest_bits, sizeof(largest));
  if (largest < kSmallestInput) return {0, 0, false};
  if (quant.limit > 0 && largest > quant.limit) largest = quant.limit;
  if (quant.kind == InputKind::kInt8 && !quant.is_symmetric) {
    least = least < 0 ? least : 0;
    most = most > 0 ? most : 0;
    const float scale = (most - least) / 255;
    return {scale, -128 - nearest(least / scale), true};
  }
  const float scale = largest / (quant.kind == InputKind::kInt8 ? 127 : kLargestE4m3);
  return {quant.has_powers ? power_above(scale) : scale, 0, true};
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// Eight floats in two registers, and the loads and sums shared by the NEON kernels. Eight, so that
// sums have the lanes and the order of the wider targets. In an anonymous namespace on purpose:
// each file gets its own copy, so that nothing built with this target's flags can become the
// linker's copy for all.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace ingot::cpu {
namespace {

struct Floats8 {
  float32x4_t low;
  float32x4_t high;
};

[[maybe_unused]] inline Floats8 all_8(float value) {
  return {vdupq_n_f32(value), vdupq_n_f32(value)};
}
[[maybe_unused]] inline Floats8 add(Floats8 a, Floats8 b) {
  return {vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)};
}
[[maybe_unused]] inline Floats8 subtract(Floats8 a, Floats8 b) {
  return {vsubq_f32(a.low, b.low), vsubq_f32(a.high, b.high)};
}
[[maybe_unused]] inline Floats8 multiply(Floats8 a, Floats8 b) {
  return {vmulq_f32(a.low, b.low), vmulq_f32(a.high, b.high)};
}
// a * b + c, rounded once.
[[maybe_unused]] inline Floats8 multiply_add(Floats8 a, Floats8 b, Floats8 c) {
  return {vfmaq_f32(c.low, a.low, b.low), vfmaq_f32(c.high, a.high, b.high)};
}

// The one order in which 8 lanes are summed: (0+4 + 2+6) + (1+5 + 3+7).
[[maybe_unused]] inline float sum_lanes(Floats8 v) {
  const float32x4_t half = vaddq_f32(v.low, v.high);
  return vpadds_f32(vadd_f32(vget_low_f32(half), vget_high_f32(half)));
}
// Four sums at once, each in the order of sum_lanes.
[[maybe_unused]] inline float32x4_t sum_lanes_of_4(const Floats8* v) {
  float32x4_t twos[2];  // the last two terms of v[2i], then of v[2i + 1]
  for (int64_t i = 0; i < 2; ++i) {
    const float64x2_t a = vreinterpretq_f64_f32(vaddq_f32(v[2 * i].low, v[2 * i].high));
    const float64x2_t b = vreinterpretq_f64_f32(vaddq_f32(v[2 * i + 1].low, v[2 * i + 1].high));
    twos[i] =
        vaddq_f32(vreinterpretq_f32_f64(vtrn1q_f64(a, b)), vreinterpretq_f32_f64(vtrn2q_f64(a, b)));
  }
  return vpaddq_f32(twos[0], twos[1]);
}

[[maybe_unused]] inline Floats8 load_8(const float* from) {
  return {vld1q_f32(from), vld1q_f32(from + 4)};
}
[[maybe_unused]] inline void store_8(float* to, Floats8 value) {
  vst1q_f32(to, value.low);
  vst1q_f32(to + 4, value.high);
}
// `count` lanes of at most 8; what is not there reads as `other`.
[[maybe_unused]] inline Floats8 load_some(const float* from, int64_t count, float other = 0) {
  if (count >= 8) return load_8(from);
  float lanes[8] = {other, other, other, other, other, other, other, other};
  __builtin_memcpy(lanes, from, static_cast<size_t>(count) * sizeof(float));
  return load_8(lanes);
}
[[maybe_unused]] inline void store_some(float* to, int64_t count, Floats8 value) {
  if (count >= 8) return store_8(to, value);
  float lanes[8];
  store_8(lanes, value);
  __builtin_memcpy(to, lanes, static_cast<size_t>(count) * sizeof(float));
}

// How one element type becomes 8 floats.
struct F32Elements {
  static constexpr int64_t kBytes = 4;
  static Floats8 load(const std::byte* from) {
    return load_8(reinterpret_cast<const float*>(from));
  }
};
struct F16Elements {
  static constexpr int64_t kBytes = 2;
  static Floats8 widen(uint16x8_t words) {
    const float16x8_t halves = vreinterpretq_f16_u16(words);
    return {vcvt_f32_f16(vget_low_f16(halves)), vcvt_high_f32_f16(halves)};
  }
  static Floats8 load(const std::byte* from) {
    return widen(vld1q_u16(reinterpret_cast<const uint16_t*>(from)));
  }
};
struct BF16Elements {
  static constexpr int64_t kBytes = 2;
  static Floats8 load(const std::byte* from) {
    const uint16x8_t words = vld1q_u16(reinterpret_cast<const uint16_t*>(from));
    return {vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(words), 16)),
            vreinterpretq_f32_u32(vshll_high_n_u16(words, 16))};
  }
};

}  // namespace
}  // namespace ingot::cpu

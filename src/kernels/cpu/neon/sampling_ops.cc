// SPDX-License-Identifier: Apache-2.0
// Sampling ops, one row of logits on one thread: 8 elements at a time in two registers, a block of
// 64 in 8 steps. 4 bytes read an element. A scan runs at the speed of the cache the row is in;
// weighing is bound by its 10 multiply-adds a register. bench_sampling shows both.
#include "kernels/cpu/neon/sampling_ops.h"

#include "kernels/cpu/neon/vectors.h"

namespace ingot::cpu {
namespace {

constexpr float kInfinity = __builtin_inff();

// For each set of lanes that are on, the bytes that pack these lanes to the front.
struct PackTable {
  uint8_t bytes[16][16];
};
constexpr PackTable make_pack_table() {
  PackTable table{};
  for (unsigned bits = 0; bits < 16; ++bits) {
    unsigned at = 0;
    for (unsigned lane = 0; lane < 4; ++lane) {
      if (((bits >> lane) & 1u) == 0) continue;
      for (unsigned byte = 0; byte < 4; ++byte)
        table.bytes[bits][at++] = static_cast<uint8_t>(lane * 4 + byte);
    }
  }
  return table;
}
constexpr PackTable kPack = make_pack_table();

constexpr uint32_t kLaneBits[4] = {1, 2, 4, 8};
constexpr uint32_t kLanes[4] = {0, 1, 2, 3};

Floats8 load_or(const float* from, size_t count, float other) {
  return load_some(from, static_cast<int64_t>(count), other);
}

// e^a for kLowestExponent < a <= 0; ref::exp_of says why these steps.
float32x4_t exp_negative(float32x4_t a) {
  const float32x4_t n = vrndnq_f32(vmulq_n_f32(a, 1.44269504F));
  float32x4_t r = vfmaq_f32(a, n, vdupq_n_f32(-0.693359375F));
  r = vfmaq_f32(r, n, vdupq_n_f32(2.12194440e-4F));
  float32x4_t p = vdupq_n_f32(1.0F / 5040);
  p = vfmaq_f32(vdupq_n_f32(1.0F / 720), p, r);
  p = vfmaq_f32(vdupq_n_f32(1.0F / 120), p, r);
  p = vfmaq_f32(vdupq_n_f32(1.0F / 24), p, r);
  p = vfmaq_f32(vdupq_n_f32(1.0F / 6), p, r);
  p = vfmaq_f32(vdupq_n_f32(0.5F), p, r);
  p = vfmaq_f32(r, vmulq_f32(r, r), p);
  p = vaddq_f32(p, vdupq_n_f32(1.0F));
  // p is in [0.7, 1.42] and the result normal: adding to the exponent scales exactly.
  return vreinterpretq_f32_s32(
      vaddq_s32(vreinterpretq_s32_f32(p), vshlq_n_s32(vcvtq_s32_f32(n), 23)));
}

struct Exponents {
  float32x4_t a;
  float32x4_t w;
};
Exponents exponents_of(float32x4_t x, float top, float scale) {
  const float32x4_t lowest = vdupq_n_f32(kLowestExponent);
  const float32x4_t a = vmaxnmq_f32(vmulq_n_f32(vsubq_f32(x, vdupq_n_f32(top)), scale), lowest);
  const uint32x4_t counts = vcgtq_f32(a, lowest);
  return {a, vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(exp_negative(a)), counts))};
}

struct Weights {
  float top;
  float scale;
  Floats8 weight_sum = all_8(0);
  Floats8 exponent_sum = all_8(0);

  Floats8 add_weights(Floats8 x) {
    const Exponents low = exponents_of(x.low, top, scale);
    const Exponents high = exponents_of(x.high, top, scale);
    const Floats8 w = {low.w, high.w};
    weight_sum = add(weight_sum, w);
    exponent_sum = multiply_add(w, {low.a, high.a}, exponent_sum);
    return w;
  }
};

// v - center where v is above minus infinity, else 0; takes one off `minus_count` for each of
// those.
float32x4_t deviations(float32x4_t v, float32x4_t centers, uint32x4_t& minus_count) {
  const uint32x4_t counts = vmvnq_u32(vceqq_f32(v, vdupq_n_f32(-kInfinity)));
  minus_count = vaddq_u32(minus_count, counts);
  return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(vsubq_f32(v, centers)), counts));
}

size_t block_end(size_t begin, size_t count) {
  return begin + kLogitBlock < count ? begin + kLogitBlock : count;
}

}  // namespace

// The maximum of a vector with a NaN is one: a block's maximum tells.
bool scan_logits_neon(const float* x, size_t count, float* block_max) {
  bool has_nan = false;
  for (size_t begin = 0; begin < count; begin += kLogitBlock) {
    Floats8 best = all_8(-kInfinity);
    for (size_t i = begin; i < block_end(begin, count); i += 8) {
      const Floats8 v = load_or(x + i, count - i, -kInfinity);
      best = {vmaxq_f32(best.low, v.low), vmaxq_f32(best.high, v.high)};
    }
    const float largest = vmaxvq_f32(vmaxq_f32(best.low, best.high));
    has_nan |= largest != largest;
    block_max[begin / kLogitBlock] = largest;
  }
  return !has_nan;
}

WeightSums weigh_logits_neon(const float* x, size_t count, float top, float scale, float* weights,
                             float* block_sums) {
  WeightSums sums;
  for (size_t begin = 0; begin < count; begin += kLogitBlock) {
    Weights block{top, scale};
    for (size_t i = begin; i < block_end(begin, count); i += 8) {
      const Floats8 w = block.add_weights(load_or(x + i, count - i, -kInfinity));
      if (weights != nullptr) store_some(weights + i, static_cast<int64_t>(count - i), w);
    }
    const float sum = sum_lanes(block.weight_sum);
    block_sums[begin / kLogitBlock] = sum;
    sums.weight += static_cast<double>(sum);
    sums.exponent += static_cast<double>(sum_lanes(block.exponent_sum));
  }
  return sums;
}

size_t collect_logits_neon(const float* x, size_t count, const float* block_max, float floor,
                           uint32_t* positions) {
  const float32x4_t floors = vdupq_n_f32(floor);
  const uint32x4_t lane_bits = vld1q_u32(kLaneBits);
  const uint32x4_t lanes = vld1q_u32(kLanes);
  size_t found = 0;
  for (size_t begin = 0; begin < count; begin += kLogitBlock) {
    if (block_max[begin / kLogitBlock] < floor) continue;
    const size_t end = block_end(begin, count);
    size_t i = begin;
    for (; i + 4 <= end; i += 4) {
      const uint32x4_t on = vandq_u32(vcgeq_f32(vld1q_f32(x + i), floors), lane_bits);
      const uint32_t bits = vaddvq_u32(on);
      const uint32x4_t at = vaddq_u32(lanes, vdupq_n_u32(static_cast<uint32_t>(i)));
      // Four are stored, of which the next store overwrites what did not count.
      vst1q_u32(positions + found, vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(at),
                                                                   vld1q_u8(kPack.bytes[bits]))));
      found += static_cast<size_t>(__builtin_popcount(bits));
    }
    for (; i < end; ++i)
      if (x[i] >= floor) positions[found++] = static_cast<uint32_t>(i);
  }
  return found;
}

void mask_logits_neon(const float* x, size_t count, const uint32_t* mask, float* out) {
  const uint32x4_t lane_bits = vld1q_u32(kLaneBits);
  const float32x4_t lowest = vdupq_n_f32(-kInfinity);
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const uint32x4_t on = vtstq_u32(vdupq_n_u32(mask[i / 32] >> (i % 32)), lane_bits);
    vst1q_f32(out + i, vbslq_f32(on, vld1q_f32(x + i), lowest));
  }
  for (; i < count; ++i)
    out[i] = ((mask[i / 32] >> (i % 32)) & 1u) != 0 ? x[i] : -kInfinity;
}

LogitMoments logit_moments_neon(const float* x, size_t count, float center) {
  LogitMoments moments;
  const float32x4_t centers = vdupq_n_f32(center);
  for (size_t begin = 0; begin < count; begin += kLogitBlock) {
    Floats8 sum = all_8(0);
    Floats8 squares = all_8(0);
    uint32x4_t minus_count = vdupq_n_u32(0);
    for (size_t i = begin; i < block_end(begin, count); i += 8) {
      const Floats8 v = load_or(x + i, count - i, -kInfinity);
      const Floats8 d = {deviations(v.low, centers, minus_count),
                         deviations(v.high, centers, minus_count)};
      sum = add(sum, d);
      squares = multiply_add(d, d, squares);
    }
    moments.sum += static_cast<double>(sum_lanes(sum));
    moments.squares += static_cast<double>(sum_lanes(squares));
    moments.count -= vaddvq_s32(vreinterpretq_s32_u32(minus_count));
  }
  return moments;
}

}  // namespace ingot::cpu

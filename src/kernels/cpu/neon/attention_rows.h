// SPDX-License-Identifier: Apache-2.0
// Rows of every cache type as vectors of 8 floats, the same floats as the scalar codecs read but
// for the factors and units that KvRows leaves to the softmax; and the vector operations that
// attention_tiles.h asks for. Anonymous, as vectors.h explains.
#pragma once

#include "kernels/cpu/neon/vectors.h"

namespace ingot::cpu {
namespace {

struct Neon {
  using Vector = Floats8;
  static constexpr int64_t kLanes = 8;
  // Of each query's sums held in registers while mixing: 8 sums, two registers each.
  static constexpr int64_t mix_vectors(int64_t queries) { return 8 / queries; }

  static Vector zero() { return all_8(0); }
  static Vector all(float value) { return all_8(value); }
  static Vector load(const float* from) { return load_8(from); }
  static Vector load_some(const float* from, int64_t count) {
    return ingot::cpu::load_some(from, count);
  }
  // In registers from here on.
  static Vector keep(Vector v) {
    asm("" : "+w"(v.low), "+w"(v.high));
    return v;
  }
  static void store(float* to, Vector v) { store_8(to, v); }
  static void store_some(float* to, int64_t count, Vector v) {
    ingot::cpu::store_some(to, count, v);
  }
  static Vector mul(Vector a, Vector b) { return multiply(a, b); }
  static Vector fmadd(Vector a, Vector b, Vector c) { return multiply_add(a, b, c); }
  static float sum(Vector v) { return sum_lanes(v); }
  static Vector sum_each(const Vector (&v)[kLanes]) {
    return {sum_lanes_of_4(v), sum_lanes_of_4(v + 4)};
  }
  // One part to each of `Parts` rows.
  template <int64_t Parts>
  static void store_parts(Vector v, float* to, int64_t stride) {
    if constexpr (Parts == 1) {
      store_8(to, v);
    } else if constexpr (Parts == 2) {
      vst1q_f32(to, v.low);
      vst1q_f32(to + stride, v.high);
    } else {
      static_assert(Parts == 4);
      vst1_f32(to, vget_low_f32(v.low));
      vst1_f32(to + stride, vget_high_f32(v.low));
      vst1_f32(to + 2 * stride, vget_low_f32(v.high));
      vst1_f32(to + 3 * stride, vget_high_f32(v.high));
    }
  }
};

inline uint8x8_t load_8_bytes(const std::byte* from) {
  return vld1_u8(reinterpret_cast<const uint8_t*>(from));
}
inline float half_value(uint16_t bits) {
  return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(bits))), 0);
}
inline float load_half(const std::byte* from) {
  uint16_t bits;
  __builtin_memcpy(&bits, from, sizeof(bits));
  return half_value(bits);
}
inline Floats8 floats_of(int8x8_t codes) {
  const int16x8_t words = vmovl_s8(codes);
  return {vcvtq_f32_s32(vmovl_s16(vget_low_s16(words))), vcvtq_f32_s32(vmovl_high_s16(words))};
}

// A row of elements of `Bits` each, which Widen turns into floats, 8 at a time. at(d): dimensions d
// ... d + 7; some(d, count): the `count` < 8 from d on, zeros behind.
template <class Widen, int64_t Bits>
struct PlainRow {
  static constexpr bool kHasFactor = false;
  static int64_t bytes(int64_t dim) { return dim * Bits / 8; }
  PlainRow(const std::byte* row, int64_t) : data(row) {}
  Floats8 at(int64_t d) const { return Widen::load(data + d * Bits / 8); }
  Floats8 some(int64_t d, int64_t count) const {
    std::byte bytes[32] = {};
    __builtin_memcpy(bytes, data + d * Bits / 8, static_cast<size_t>(count * Bits / 8));
    return Widen::load(bytes);
  }
  const std::byte* data;
};

// As fp16 bits with the exponent 8 too low: a unit of 256. The sign stands twice at first. The two
// codes that are no numbers become fp16's.
struct Fp8E4M3Elements {
  static constexpr float kUnit = 256;
  static Floats8 load(const std::byte* from) {
    const int8x8_t codes = vreinterpret_s8_u8(load_8_bytes(from));
    const uint16x8_t words = vreinterpretq_u16_s16(vshll_n_s8(codes, 7));
    const uint16x8_t half = vandq_u16(words, vdupq_n_u16(0xBFFF));
    const uint16x8_t size = vandq_u16(words, vdupq_n_u16(0x3FFF));
    const uint16x8_t nan = vceqq_u16(size, vdupq_n_u16(0x3F80));
    return F16Elements::widen(vorrq_u16(half, vandq_u16(nan, vdupq_n_u16(0x7E00))));
  }
};
struct Fp8E5M2Elements {
  static Floats8 load(const std::byte* from) {  // the upper byte of an fp16
    return F16Elements::widen(vshll_n_u8(load_8_bytes(from), 8));
  }
};

using F32Row = PlainRow<F32Elements, 32>;
using F16Row = PlainRow<F16Elements, 16>;
using BF16Row = PlainRow<BF16Elements, 16>;
using Fp8E4M3Row = PlainRow<Fp8E4M3Elements, 8>;
using Fp8E5M2Row = PlainRow<Fp8E5M2Elements, 8>;

// Codes alone: the scale behind them is the row's factor.
struct Int8Elements {
  static Floats8 load(const std::byte* from) {
    return floats_of(vreinterpret_s8_u8(load_8_bytes(from)));
  }
};
struct Int8Row : PlainRow<Int8Elements, 8> {
  static constexpr bool kHasFactor = true;
  using PlainRow::PlainRow;
  static int64_t bytes(int64_t dim) { return dim + 2; }
  static float factor(const std::byte* row, int64_t dim) { return load_half(row + dim); }
};

struct Int4Row {
  static constexpr bool kHasFactor = false;
  static int64_t bytes(int64_t dim) { return (dim + 1) / 2 + 4; }
  Int4Row(const std::byte* row, int64_t dim)
      : data(row),
        scale(all_8(load_half(row + (dim + 1) / 2))),
        base(all_8(load_half(row + (dim + 1) / 2 + 2))) {}
  Floats8 widen(uint32_t word) const {
    const uint8x8_t pairs = vreinterpret_u8_u32(vdup_n_u32(word));
    const uint8x8_t codes = vzip1_u8(vand_u8(pairs, vdup_n_u8(0xF)), vshr_n_u8(pairs, 4));
    return multiply_add(floats_of(vreinterpret_s8_u8(codes)), scale, base);
  }
  Floats8 at(int64_t d) const {
    uint32_t word;
    __builtin_memcpy(&word, data + d / 2, sizeof(word));
    return widen(word);
  }
  Floats8 some(int64_t d, int64_t count) const {
    uint32_t word = 0;
    __builtin_memcpy(&word, data + d / 2, static_cast<size_t>((count + 1) / 2));
    float lanes[8];
    store_8(lanes, widen(word));
    return load_some(lanes, count);
  }
  const std::byte* data;
  Floats8 scale;
  Floats8 base;
};

}  // namespace
}  // namespace ingot::cpu

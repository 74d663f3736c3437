// SPDX-License-Identifier: Apache-2.0
// Rows of every cache type as vectors of 8 floats, the same floats as the scalar codecs read but
// for the factors and units that KvRows leaves to the softmax; and the vector operations that
// attention_tiles.h asks for. Anonymous, as vectors.h explains.
#pragma once

#include "kernels/cpu/avx2/vectors.h"

namespace ingot::cpu {
namespace {

struct Avx2 {
  using Vector = __m256;
  static constexpr int64_t kLanes = 8;
  // Of each query's sums held in registers while mixing: 12 and 8 sums; one unit's latency is 4.
  static constexpr int64_t mix_vectors(int64_t queries) { return queries == 4 ? 3 : 8 / queries; }

  static Vector zero() { return _mm256_setzero_ps(); }
  static Vector all(float value) { return _mm256_set1_ps(value); }
  static Vector load(const float* from) { return _mm256_loadu_ps(from); }
  // In a register from here on.
  static Vector keep(Vector v) {
    asm("" : "+x"(v));
    return v;
  }
  static Vector load_some(const float* from, int64_t count) {
    return _mm256_maskload_ps(from, lane_mask(count));
  }
  static void store(float* to, Vector v) { _mm256_storeu_ps(to, v); }
  static void store_some(float* to, int64_t count, Vector v) {
    _mm256_maskstore_ps(to, lane_mask(count), v);
  }
  static Vector mul(Vector a, Vector b) { return _mm256_mul_ps(a, b); }
  static Vector fmadd(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
  static float sum(Vector v) { return sum_lanes(v); }
  static Vector sum_each(const Vector (&v)[kLanes]) { return sum_lanes_of_8(v); }
  // One part to each of `Parts` rows.
  template <int64_t Parts>
  static void store_parts(Vector v, float* to, int64_t stride) {
    if constexpr (Parts == 1) {
      _mm256_storeu_ps(to, v);
    } else if constexpr (Parts == 2) {
      _mm_storeu_ps(to, _mm256_castps256_ps128(v));
      _mm_storeu_ps(to + stride, _mm256_extractf128_ps(v, 1));
    } else {
      static_assert(Parts == 4);
      const __m128 high = _mm256_extractf128_ps(v, 1);
      _mm_storel_pi(reinterpret_cast<__m64*>(to), _mm256_castps256_ps128(v));
      _mm_storeh_pi(reinterpret_cast<__m64*>(to + stride), _mm256_castps256_ps128(v));
      _mm_storel_pi(reinterpret_cast<__m64*>(to + 2 * stride), high);
      _mm_storeh_pi(reinterpret_cast<__m64*>(to + 3 * stride), high);
    }
  }
};

inline __m128i load_8_bytes(const std::byte* from) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
}
inline float half_value(uint16_t bits) {
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
}
inline float load_half(const std::byte* from) {
  uint16_t bits;
  __builtin_memcpy(&bits, from, sizeof(bits));
  return half_value(bits);
}

// A row of elements of `Bits` each, which Widen turns into floats, 8 at a time. at(d): dimensions d
// ... d + 7; some(d, count): the `count` < 8 from d on, zeros behind.
template <class Widen, int64_t Bits>
struct PlainRow {
  static constexpr bool kHasFactor = false;
  static int64_t bytes(int64_t dim) { return dim * Bits / 8; }
  PlainRow(const std::byte* row, int64_t) : data(row) {}
  __m256 at(int64_t d) const { return Widen::load(data + d * Bits / 8); }
  __m256 some(int64_t d, int64_t count) const {
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
  static __m256 load(const std::byte* from) {
    const __m128i words = _mm_slli_epi16(_mm_cvtepi8_epi16(load_8_bytes(from)), 7);
    const __m128i half = _mm_and_si128(words, _mm_set1_epi16(static_cast<int16_t>(0xBFFF)));
    const __m128i size = _mm_and_si128(words, _mm_set1_epi16(0x3FFF));
    const __m128i nan = _mm_cmpeq_epi16(size, _mm_set1_epi16(0x3F80));
    return _mm256_cvtph_ps(_mm_or_si128(half, _mm_and_si128(nan, _mm_set1_epi16(0x7E00))));
  }
};
struct Fp8E5M2Elements {
  static __m256 load(const std::byte* from) {  // the upper byte of an fp16
    return _mm256_cvtph_ps(_mm_unpacklo_epi8(_mm_setzero_si128(), load_8_bytes(from)));
  }
};

using F32Row = PlainRow<F32Elements, 32>;
using F16Row = PlainRow<F16Elements, 16>;
using BF16Row = PlainRow<BF16Elements, 16>;
using Fp8E4M3Row = PlainRow<Fp8E4M3Elements, 8>;
using Fp8E5M2Row = PlainRow<Fp8E5M2Elements, 8>;

// Codes alone: the scale behind them is the row's factor.
struct Int8Elements {
  static __m256 load(const std::byte* from) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(load_8_bytes(from)));
  }
};
struct Int8Row : PlainRow<Int8Elements, 8> {
  static constexpr bool kHasFactor = true;
  using PlainRow::PlainRow;
  static int64_t bytes(int64_t dim) { return dim + 2; }
  static float factor(const std::byte* row, int64_t dim) { return load_half(row + dim); }
};

inline __m256i nibble_shifts() {
  return _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
}
struct Int4Row {
  static constexpr bool kHasFactor = false;
  static int64_t bytes(int64_t dim) { return (dim + 1) / 2 + 4; }
  Int4Row(const std::byte* row, int64_t dim)
      : data(row),
        scale(_mm256_set1_ps(load_half(row + (dim + 1) / 2))),
        base(_mm256_set1_ps(load_half(row + (dim + 1) / 2 + 2))) {}
  __m256 widen(int32_t word) const {
    const __m256i codes = _mm256_and_si256(
        _mm256_srlv_epi32(_mm256_set1_epi32(word), nibble_shifts()), _mm256_set1_epi32(0xF));
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(codes), scale, base);
  }
  __m256 at(int64_t d) const {
    int32_t word;
    __builtin_memcpy(&word, data + d / 2, sizeof(word));
    return widen(word);
  }
  __m256 some(int64_t d, int64_t count) const {
    int32_t word = 0;
    __builtin_memcpy(&word, data + d / 2, static_cast<size_t>((count + 1) / 2));
    return _mm256_and_ps(widen(word), _mm256_castsi256_ps(lane_mask(count)));
  }
  const std::byte* data;
  __m256 scale;
  __m256 base;
};

}  // namespace
}  // namespace ingot::cpu

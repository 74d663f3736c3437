// SPDX-License-Identifier: Apache-2.0
// Rows of every cache type as vectors of 16 floats, the same floats as the scalar codecs read but
// for the factors and units that KvRows leaves to the softmax; and the vector operations that
// attention_tiles.h asks for. Anonymous, as vectors.h explains.
#pragma once

#include "kernels/cpu/avx512/vectors.h"

namespace ingot::cpu {
namespace {

struct Avx512 {
  using Vector = __m512;
  static constexpr int64_t kLanes = 16;
  // Of each query's sums held in registers while mixing: up to 16 sums.
  static constexpr int64_t mix_vectors(int64_t queries) { return queries == 4 ? 4 : 8 / queries; }

  static Vector zero() { return _mm512_setzero_ps(); }
  static Vector all(float value) { return _mm512_set1_ps(value); }
  static Vector load(const float* from) { return _mm512_loadu_ps(from); }
  // In a register from here on.
  static Vector keep(Vector v) {
    asm("" : "+v"(v));
    return v;
  }
  static Vector load_some(const float* from, int64_t count) { return load_floats(from, count); }
  static void store(float* to, Vector v) { _mm512_storeu_ps(to, v); }
  static void store_some(float* to, int64_t count, Vector v) { store_floats(to, count, v); }
  static Vector mul(Vector a, Vector b) { return _mm512_mul_ps(a, b); }
  static Vector fmadd(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
  static float sum(Vector v) { return sum_lanes_512(v); }
  static Vector sum_each(const Vector (&v)[kLanes]) { return sum_lanes_of_16(v); }
  // One part to each of `Parts` rows.
  template <int64_t Parts>
  static void store_parts(Vector v, float* to, int64_t stride) {
    if constexpr (Parts == 1) {
      _mm512_storeu_ps(to, v);
    } else if constexpr (Parts == 2) {
      _mm256_storeu_ps(to, _mm512_castps512_ps256(v));
      _mm256_storeu_ps(to + stride, upper_half(v));
    } else {
      static_assert(Parts == 4);
      _mm_storeu_ps(to, _mm512_castps512_ps128(v));
      _mm_storeu_ps(to + stride, _mm512_extractf32x4_ps(v, 1));
      _mm_storeu_ps(to + 2 * stride, _mm512_extractf32x4_ps(v, 2));
      _mm_storeu_ps(to + 3 * stride, _mm512_extractf32x4_ps(v, 3));
    }
  }
};

// How 16 elements become floats: `widen` takes what `load` gives, or `load_some` with zeros past
// `count` < 16.
struct FloatElements {
  static constexpr int64_t kBytes = 4;
  static __m512 load(const std::byte* from) {
    return _mm512_loadu_ps(reinterpret_cast<const float*>(from));
  }
  static __m512 load_some(const std::byte* from, int64_t count) {
    return load_floats(reinterpret_cast<const float*>(from), count);
  }
  static __m512 widen(__m512 v) { return v; }
};
struct Words {
  static constexpr int64_t kBytes = 2;
  static __m256i load(const std::byte* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static __m256i load_some(const std::byte* from, int64_t count) {
    return _mm256_maskz_loadu_epi16(lane_mask_512(count), from);
  }
};
struct Bytes {
  static constexpr int64_t kBytes = 1;
  static __m128i load(const std::byte* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  static __m128i load_some(const std::byte* from, int64_t count) {
    return _mm_maskz_loadu_epi8(lane_mask_512(count), from);
  }
};
struct HalfElements : Words {
  static __m512 widen(__m256i words) { return _mm512_cvtph_ps(words); }
};
struct BFloat16Elements : Words {
  static __m512 widen(__m256i words) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16));
  }
};
// As fp16 bits with the exponent 8 too low: a unit of 256. The sign stands twice at first. The two
// codes that are no numbers become fp16's.
struct Fp8E4M3Elements : Bytes {
  static constexpr float kUnit = 256;
  static __m512 widen(__m128i bytes) {
    const __m128i sizes = _mm_or_si128(bytes, _mm_set1_epi8(static_cast<char>(0x80)));
    const __mmask16 is_nan = _mm_cmpeq_epi8_mask(sizes, _mm_set1_epi8(static_cast<char>(0xFF)));
    const __m256i words = _mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 7);
    const __m256i half = _mm256_and_si256(words, _mm256_set1_epi16(static_cast<int16_t>(0xBFFF)));
    return _mm512_cvtph_ps(_mm256_mask_mov_epi16(half, is_nan, _mm256_set1_epi16(0x7E00)));
  }
};
struct Fp8E5M2Elements : Bytes {
  static __m512 widen(__m128i bytes) {  // the upper byte of an fp16
    return _mm512_cvtph_ps(_mm256_slli_epi16(_mm256_cvtepu8_epi16(bytes), 8));
  }
};
struct Int8Elements : Bytes {
  static __m512 widen(__m128i bytes) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)); }
};

// at(d): dimensions d ... d + 15; some(d, count): the `count` < 16 from d on, zeros behind.
template <class Elements>
struct PlainRow {
  static constexpr bool kHasFactor = false;
  static int64_t bytes(int64_t dim) { return dim * Elements::kBytes; }
  PlainRow(const std::byte* row, int64_t) : data(row) {}
  __m512 at(int64_t d) const { return Elements::widen(Elements::load(data + bytes(d))); }
  __m512 some(int64_t d, int64_t count) const {
    return Elements::widen(Elements::load_some(data + bytes(d), count));
  }
  const std::byte* data;
};
using F32Row = PlainRow<FloatElements>;
using F16Row = PlainRow<HalfElements>;
using BF16Row = PlainRow<BFloat16Elements>;
using Fp8E4M3Row = PlainRow<Fp8E4M3Elements>;
using Fp8E5M2Row = PlainRow<Fp8E5M2Elements>;

inline float load_half(const std::byte* from) {
  uint16_t bits;
  __builtin_memcpy(&bits, from, sizeof(bits));
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
}

// Codes alone: the scale behind them is the row's factor.
struct Int8Row {
  static constexpr bool kHasFactor = true;
  static int64_t bytes(int64_t dim) { return dim + 2; }
  static float factor(const std::byte* row, int64_t dim) { return load_half(row + dim); }
  Int8Row(const std::byte* row, int64_t) : data(row) {}
  __m512 at(int64_t d) const { return Int8Elements::widen(Int8Elements::load(data + d)); }
  __m512 some(int64_t d, int64_t count) const {
    return Int8Elements::widen(Int8Elements::load_some(data + d, count));
  }
  const std::byte* data;
};

// The 16 numbers of a row stand in one vector; its codes pick from them, by their low four bits.
struct Int4Row {
  static constexpr bool kHasFactor = false;
  static int64_t bytes(int64_t dim) { return (dim + 1) / 2 + 4; }
  Int4Row(const std::byte* row, int64_t dim)
      : data(row),
        numbers(
            _mm512_fmadd_ps(_mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                            _mm512_set1_ps(load_half(row + (dim + 1) / 2)),
                            _mm512_set1_ps(load_half(row + (dim + 1) / 2 + 2)))) {}
  __m512 pick(uint64_t codes) const {
    // The lower word to eight lanes, the upper to the others; then each lane's code to its bottom.
    const __m512i words =
        _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1),
                                 _mm512_set1_epi64(static_cast<int64_t>(codes)));
    const __m512i shifts =
        _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    return _mm512_permutexvar_ps(_mm512_srlv_epi32(words, shifts), numbers);
  }
  __m512 at(int64_t d) const {
    uint64_t codes;
    __builtin_memcpy(&codes, data + d / 2, sizeof(codes));
    return pick(codes);
  }
  __m512 some(int64_t d, int64_t count) const {
    uint64_t codes = 0;
    __builtin_memcpy(&codes, data + d / 2, static_cast<size_t>((count + 1) / 2));
    return _mm512_maskz_mov_ps(lane_mask_512(count), pick(codes));
  }
  const std::byte* data;
  __m512 numbers;
};

}  // namespace
}  // namespace ingot::cpu

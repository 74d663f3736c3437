// SPDX-License-Identifier: Apache-2.0
// The scales of packings with one for every group of 32 columns, or of 16, as floats of eight rows.
#pragma once

#include "kernels/cpu/avx2/codes.h"

namespace ingot::cpu {
namespace {

// The scales of eight rows of a group; `half` says which.
struct HalfScales {
  static constexpr int64_t kBytes = 32;
  static constexpr bool kHasMin = false;
  static __m256 scales(const std::byte* from, int64_t half) {
    return widen_halves(from + half * 16);
  }
  static __m256 mins(const std::byte*, int64_t) { return _mm256_setzero_ps(); }
};
struct HalfScalesAndMins {
  static constexpr int64_t kBytes = 64;
  static constexpr bool kHasMin = true;
  static __m256 scales(const std::byte* from, int64_t half) {
    return widen_halves(from + half * 16);
  }
  static __m256 mins(const std::byte* from, int64_t half) {
    return widen_halves(from + 32 + half * 16);
  }
};
struct ZeroScales {  // floats of 24 bits above zero points of 8, which take the place of minimums
  static constexpr int64_t kBytes = 64;
  static constexpr bool kHasMin = false;
  static __m256 scales(const std::byte* from, int64_t half) {
    return _mm256_castsi256_ps(
        _mm256_andnot_si256(_mm256_set1_epi32(0xFF), load_8_rows(from + half * 32)));
  }
  static __m256 mins(const std::byte* from, int64_t half) {
    return _mm256_castsi256_ps(
        _mm256_and_si256(_mm256_set1_epi32(0xFF), load_8_rows(from + half * 32)));
  }
};
struct FloatScales {
  static constexpr int64_t kBytes = 64;
  static constexpr bool kHasMin = false;
  static __m256 scales(const std::byte* from, int64_t half) {
    return _mm256_castsi256_ps(load_8_rows(from + half * 32));
  }
  static __m256 mins(const std::byte*, int64_t) { return _mm256_setzero_ps(); }
};
struct PowerScales {  // exponents alone; halved, as the levels are doubled
  static constexpr int64_t kBytes = 16;
  static constexpr bool kHasMin = false;
  static __m256 scales(const std::byte* from, int64_t half) {
    const __m256i exponents =
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + half * 8)));
    // Halving would leave nothing of the exponents 0 and 1 but the denormals that stand for them.
    const __m256i one = _mm256_set1_epi32(1);
    const __m256i halves = _mm256_slli_epi32(_mm256_sub_epi32(exponents, one), 23);
    const __m256i denormals =
        _mm256_srlv_epi32(_mm256_set1_epi32(1 << 22), _mm256_sub_epi32(one, exponents));
    const __m256i is_large = _mm256_cmpgt_epi32(exponents, one);
    const __m256i is_nan = _mm256_cmpeq_epi32(exponents, _mm256_set1_epi32(255));
    const __m256i values = _mm256_blendv_epi8(denormals, halves, is_large);
    return _mm256_castsi256_ps(_mm256_blendv_epi8(values, _mm256_set1_epi32(0x7FC00000), is_nan));
  }
  static __m256 mins(const std::byte*, int64_t) { return _mm256_setzero_ps(); }
};

struct PairScales {  // bytes of e4m3 for 16 columns, then for 16 more; halved, as levels are
                     // doubled
  static constexpr int64_t kBytes = 32;
  static constexpr bool kHasMin = false;
  static __m256 scales(const std::byte* from, int64_t half) {
    const __m128i words =
        _mm_cvtepu8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + half * 8)));
    // As a half it is 256 times too small.
    return _mm256_mul_ps(_mm256_cvtph_ps(_mm_slli_epi16(words, 7)), _mm256_set1_ps(128));
  }
  static __m256 mins(const std::byte*, int64_t) { return _mm256_setzero_ps(); }
};

}  // namespace
}  // namespace ingot::cpu

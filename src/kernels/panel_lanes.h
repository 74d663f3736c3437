// SPDX-License-Identifier: Apache-2.0
// Eight rows of a file side by side: word w of each becomes a lane of vector w, which then takes
// the steps that one row's word would. Only where AVX2 shuffles make it cheap; in an anonymous
// namespace on purpose, as all that is built once for each target.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>

namespace ingot {
namespace {

inline constexpr int64_t kLaneRows = 8;
typedef uint32_t Lanes __attribute__((vector_size(32)));

// Words [0, 8) of eight rows. Rounds of pairs: words, then twice as wide, then half vectors.
inline void turn_words(const std::byte* rows, int64_t row_bytes, Lanes* out) {
  __m256i in[8];
  for (int64_t i = 0; i < 8; ++i)
    in[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + i * row_bytes));
  __m256i pairs[8];  // of rows 2i and 2i + 1: words 0, 1, 4, 5 and 2, 3, 6, 7
  for (int64_t i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_epi32(in[i], in[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_epi32(in[i], in[i + 1]);
  }
  __m256i fours[8];  // words i and i + 4 of four rows
  for (int64_t i = 0; i < 8; i += 4) {
    fours[i] = _mm256_unpacklo_epi64(pairs[i], pairs[i + 2]);
    fours[i + 1] = _mm256_unpackhi_epi64(pairs[i], pairs[i + 2]);
    fours[i + 2] = _mm256_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
    fours[i + 3] = _mm256_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
  }
  for (int64_t i = 0; i < 4; ++i) {
    out[i] = reinterpret_cast<Lanes>(_mm256_permute2x128_si256(fours[i], fours[4 + i], 0x20));
    out[4 + i] = reinterpret_cast<Lanes>(_mm256_permute2x128_si256(fours[i], fours[4 + i], 0x31));
  }
}

}  // namespace
}  // namespace ingot
#endif

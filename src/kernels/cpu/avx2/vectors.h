// SPDX-License-Identifier: Apache-2.0
// Loads and reductions shared by the AVX2 kernels. In an anonymous namespace on purpose: each file
// gets its own copy, so that nothing built with AVX2 flags can become the linker's copy for all.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace ingot::cpu {
namespace {

// The one order in which 8 lanes are summed: (0+4 + 2+6) + (1+5 + 3+7).
[[maybe_unused]] inline float sum_lanes(__m256 v) {
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  half = _mm_add_ss(half, _mm_movehdup_ps(half));
  return _mm_cvtss_f32(half);
}

[[maybe_unused]] inline int32_t sum_lanes(__m256i v) {
  __m128i half = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4E));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xB1));
  return _mm_cvtsi128_si32(half);
}

// Eight sums at once, each in the order of sum_lanes. Blends stand for shuffles where they can:
// more units have them.
[[maybe_unused]] inline __m256 sum_lanes_of_8(const __m256 (&v)[8]) {
  __m256 fours[4];  // i: lanes l + (l + 4) of v[i], then of v[i + 4]
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    fours[i] = _mm256_add_ps(_mm256_blend_ps(v[i], v[i + 4], 0xF0),
                             _mm256_permute2f128_ps(v[i], v[i + 4], 0x21));
  }
  __m256 twos[2];  // per half: two of v[i], two of v[i + 2]
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    twos[i] = _mm256_add_ps(_mm256_blend_ps(fours[i], fours[i + 2], 0xCC),
                            _mm256_shuffle_ps(fours[i], fours[i + 2], 0x4E));
  }
  return _mm256_add_ps(_mm256_blend_ps(twos[0], twos[1], 0xAA),
                       _mm256_permute_ps(_mm256_blend_ps(twos[1], twos[0], 0xAA), 0xB1));
}

// The first `count` < 8 lanes on.
[[maybe_unused]] inline __m256i lane_mask(int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(count)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

[[maybe_unused]] inline __m128i load_16_bytes(const void* from) {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}
// Up to 7 two-byte elements, zeros after them.
[[maybe_unused]] inline __m128i load_some_words(const void* from, int64_t count) {
  alignas(16) uint16_t words[8] = {};
  __builtin_memcpy(words, from, static_cast<size_t>(count) * sizeof(uint16_t));
  return load_16_bytes(words);
}

// How one element type becomes 8 floats. `load_some` gives zeros past `count` < 8.
struct F32Elements {
  static constexpr int64_t kBytes = 4;
  static __m256 load(const std::byte* from) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  }
  static __m256 load_some(const std::byte* from, int64_t count) {
    return _mm256_maskload_ps(reinterpret_cast<const float*>(from), lane_mask(count));
  }
};
struct F16Elements {
  static constexpr int64_t kBytes = 2;
  static __m256 load(const std::byte* from) { return _mm256_cvtph_ps(load_16_bytes(from)); }
  static __m256 load_some(const std::byte* from, int64_t count) {
    return _mm256_cvtph_ps(load_some_words(from, count));
  }
};
struct BF16Elements {
  static constexpr int64_t kBytes = 2;
  static __m256 widen(__m128i words) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16));
  }
  static __m256 load(const std::byte* from) { return widen(load_16_bytes(from)); }
  static __m256 load_some(const std::byte* from, int64_t count) {
    return widen(load_some_words(from, count));
  }
};

}  // namespace
}  // namespace ingot::cpu

// SPDX-License-Identifier: Apache-2.0
// Loads and reductions shared by the AVX-512 kernels. In an anonymous namespace on purpose: each
// file gets its own copy, so that nothing built with these flags can become the linker's copy for
// all.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace ingot::cpu {
namespace {

// The first `count` lanes on; all when there are 16 or more.
[[maybe_unused]] inline __mmask16 lane_mask_512(int64_t count) {
  return count >= 16 ? static_cast<__mmask16>(0xFFFF)
                     : static_cast<__mmask16>((1u << static_cast<unsigned>(count)) - 1u);
}

// Zeros past `count`.
[[maybe_unused]] inline __m512 load_floats(const float* from, int64_t count) {
  return _mm512_maskz_loadu_ps(lane_mask_512(count), from);
}
[[maybe_unused]] inline void store_floats(float* to, int64_t count, __m512 value) {
  _mm512_mask_storeu_ps(to, lane_mask_512(count), value);
}

[[maybe_unused]] inline __m256 upper_half(__m512 v) {
  return _mm512_extractf32x8_ps(v, 1);
}

// The one order in which 8 lanes are summed: (0+4 + 2+6) + (1+5 + 3+7).
[[maybe_unused]] inline float sum_lanes_256(__m256 v) {
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  half = _mm_add_ss(half, _mm_movehdup_ps(half));
  return _mm_cvtss_f32(half);
}
// The one order in which 16 lanes are summed: lane l with l + 8, then as 8 lanes.
[[maybe_unused]] inline float sum_lanes_512(__m512 v) {
  return sum_lanes_256(_mm256_add_ps(_mm512_castps512_ps256(v), upper_half(v)));
}

// Sixteen sums at once, each in the order of sum_lanes_512. Blends stand for shuffles where they
// can: more units have them.
[[maybe_unused]] inline __m512 sum_lanes_of_16(const __m512 (&v)[16]) {
  __m512 eights[8];  // i: lanes l + (l + 8) of v[i], then of v[i + 8]
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    eights[i] = _mm512_add_ps(_mm512_mask_blend_ps(0xFF00, v[i], v[i + 8]),
                              _mm512_shuffle_f32x4(v[i], v[i + 8], 0x4E));
  }
  __m512 fours[4];  // quarters: of v[i], v[i + 4], v[i + 8], v[i + 12]
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512 swapped = _mm512_mask_blend_ps(0xF0F0, eights[i + 4], eights[i]);
    fours[i] = _mm512_add_ps(_mm512_mask_blend_ps(0xF0F0, eights[i], eights[i + 4]),
                             _mm512_shuffle_f32x4(swapped, swapped, 0xB1));
  }
  __m512 twos[2];  // per quarter: two of fours[i], two of fours[i + 2]
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    twos[i] = _mm512_add_ps(_mm512_mask_blend_ps(0xCCCC, fours[i], fours[i + 2]),
                            _mm512_shuffle_ps(fours[i], fours[i + 2], 0x4E));
  }
  return _mm512_add_ps(_mm512_mask_blend_ps(0xAAAA, twos[0], twos[1]),
                       _mm512_permute_ps(_mm512_mask_blend_ps(0xAAAA, twos[1], twos[0]), 0xB1));
}

}  // namespace
}  // namespace ingot::cpu

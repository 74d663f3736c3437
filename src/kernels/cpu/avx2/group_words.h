// SPDX-License-Identifier: Apache-2.0
// Many tokens by levels that do not fit seven bits, with a scale per group of 32: weights and
// inputs as words. For 32 columns of 8 rows 16 multiplies, 16 additions and 3 operations of floats.
// Levels of eight bits as two planes of nibbles would take as many multiplies of bytes, but their
// sums of words are to be widened and joined, and an offset comes off them: 42 instructions for
// these 35 (140 and 160 GOP/s a core of Q8_0). Levels of two bytes take no longer than those of
// one.
#pragma once

#include <type_traits>

#include "kernels/cpu/avx2/group_scales.h"
#include "kernels/cpu/avx2/panel_walk.h"

namespace ingot::cpu {
namespace {

struct NoCodes {};

// The part of a Core (see panel_walk.h) for many tokens. A level is of Of, and 128 times as large
// where Low is added to it.
template <class Of, class Scales, class Low = NoCodes>
struct GroupWords {
  using Input = Q8G32Words;
  static constexpr int64_t kBlockBytes = 8 * (Scales::kBytes + Of::kRunBytes);  // of a panel

  struct alignas(64) Tile {
    __m256i words[128][2];  // [two columns][half of the rows]
    __m256 scales[8][2];
  };

  static int64_t groups_of(const LinearArgs& args, int64_t block) {
    const int64_t left = args.cols / 32 - block * 8;
    return left < 8 ? left : 8;
  }

  // The first or the last two of the four columns of a register of bytes.
  template <int64_t First>
  static __m256i widened(__m256i bytes) {
    constexpr char kZero = -128;
    const __m128i places =
        _mm_setr_epi8(First, kZero, First + 1, kZero, First + 4, kZero, First + 5, kZero, First + 8,
                      kZero, First + 9, kZero, First + 12, kZero, First + 13, kZero);
    return _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(places));
  }

  static void fill(const std::byte* panel, const LinearArgs& args, int64_t block, Tile& tile) {
    const std::byte* scales = panel + block * kBlockBytes;
    const std::byte* runs = scales + 8 * Scales::kBytes;
    const int64_t groups = groups_of(args, block);
    for (int64_t g = 0; g < groups; ++g) {
      prefetch<Of::kRunBytes>(runs + (8 + g) * Of::kRunBytes);
      for (int64_t half = 0; half < 2; ++half) {
        const std::byte* group_scales = scales + g * Scales::kBytes;
        __m256i offset = _mm256_set1_epi16(Of::kOffset);
        if constexpr (std::is_same_v<Scales, ZeroScales>) {
          const __m256i zero = _mm256_castps_si256(Scales::mins(group_scales, half));
          offset = _mm256_or_si256(zero, _mm256_slli_epi32(zero, 16));
        }
        const std::byte* run = runs + g * Of::kRunBytes + half * kHalfLine;
        __m256i levels[8];
        __m256i low[8];
        Of::read_levels(run, levels);
        if constexpr (kHasLow) Low::read_levels(run, low);
        for (int64_t i = 0; i < 8; ++i) {
          __m256i first = _mm256_sub_epi16(widened<0>(levels[i]), offset);
          __m256i second = _mm256_sub_epi16(widened<2>(levels[i]), offset);
          if constexpr (kHasLow) {
            first = _mm256_add_epi16(_mm256_slli_epi16(first, 7), widened<0>(low[i]));
            second = _mm256_add_epi16(_mm256_slli_epi16(second, 7), widened<2>(low[i]));
          }
          tile.words[g * 16 + 2 * i][half] = first;
          tile.words[g * 16 + 2 * i + 1][half] = second;
        }
        tile.scales[g][half] = Scales::scales(group_scales, half);
      }
    }
  }

  // Out of line, for the registers' sake.
  template <int64_t Tokens>
  [[gnu::noinline]] static void add(const Tile& tile, const LinearArgs& args, int64_t block,
                                    const Q8G32Words* x, int64_t stride, float* sums) {
    const int64_t groups = groups_of(args, block);
    for (int64_t group = 0; group < groups; ++group) {
      const int16_t* in[Tokens];
      __m256i dots[2][Tokens];
#pragma GCC unroll 4
      for (int64_t t = 0; t < Tokens; ++t)
        in[t] = x[t * stride].codes + group * 32;
#pragma GCC unroll 16
      for (int64_t i = 0; i < 16; ++i) {
#pragma GCC unroll 4
        for (int64_t t = 0; t < Tokens; ++t) {
          const __m256i two = broadcast_4_bytes(in[t] + 2 * i);
#pragma GCC unroll 2
          for (int64_t h = 0; h < 2; ++h) {
            const __m256i products = _mm256_madd_epi16(tile.words[group * 16 + i][h], two);
            dots[h][t] = i == 0 ? products : _mm256_add_epi32(dots[h][t], products);
            pin(dots[h][t]);
          }
        }
      }
#pragma GCC unroll 4
      for (int64_t t = 0; t < Tokens; ++t) {
        const __m256 x_scale = _mm256_set1_ps(x[t * stride].scales[group]);
#pragma GCC unroll 2
        for (int64_t h = 0; h < 2; ++h) {
          float* sum = sums + t * kTokenSums + h * 8;
          const __m256 scale = _mm256_mul_ps(tile.scales[group][h], x_scale);
          _mm256_store_ps(
              sum, _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(dots[h][t]), _mm256_load_ps(sum)));
        }
      }
    }
  }

 private:
  static constexpr bool kHasLow = !std::is_same_v<Low, NoCodes>;
};

}  // namespace
}  // namespace ingot::cpu

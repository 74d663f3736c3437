// SPDX-License-Identifier: Apache-2.0
// The arithmetic of packings with whole scales in blocks of 256 (see panel_walk.h), for AVX-512 and
// as the base of AMX. For 64 columns of 16 rows 16 dot instructions and 2 (groups of 32) or 4 (of
// 16) multiplies by the scales.
#pragma once

#include "kernels/code_levels.h"
#include "kernels/cpu/avx512/panel_walk.h"

namespace ingot::cpu {
namespace {

template <int Bits, int64_t Group, class PackedScales, int Offset, const int8_t* Levels = nullptr,
          int Divisor = 1>
struct BlocksCore {
  using Input = Q8G256;
  static constexpr int64_t kFewTokens = 40;
  static constexpr int64_t kPairs = 128 / Group;  // of groups
  static constexpr int64_t kRunsOfPair = Group / 16;
  static constexpr bool kHasShifts = requires(PackedScales s) { s.kShiftUnit; };
  static constexpr bool kHasMin = kHasShifts || requires(PackedScales s) { s.min_scales; };
  // What is taken off every code; where there are minimums, they do that.
  static constexpr int kTaken = kHasMin ? 0 : Offset;
  static constexpr bool kHasMins = requires(PackedScales s) { s.group_mins; };
  static constexpr bool kHasNibbles = requires(PackedScales s) { s.nibbles; };
  static constexpr bool kHasGroups = kHasNibbles || requires(PackedScales s) { s.group_scales; };
  static constexpr int64_t kRunBytes = kLine * Bits;
  static constexpr int64_t kPassTokens = kTileTokens;
  static constexpr int64_t kScaleBytes = (sizeof(PackedScales) + kLine - 1) / kLine * kLine;

  struct alignas(64) Tile {
    __m512i codes[64];
    __m512i scales[2 * kPairs];
    __m512i min_pairs[kPairs];
    __m512 scale;
    __m512 min_scale;
  };

  // Nibbles of two neighbouring groups as pairs of words, [16 rows][2].
  static __m512i nibble_pairs(const PackedScales& scales, int64_t pair) {
    const __m256i both = _mm256_cvtepu8_epi16(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(scales.nibbles[pair])));
    const __m256i apart = _mm256_or_si256(both, _mm256_slli_epi16(both, 4));
    return _mm512_cvtepu8_epi16(_mm256_and_si256(apart, _mm256_set1_epi8(0xF)));
  }
  // The same of scales.
  static __m512i scale_pairs(const PackedScales& scales, int64_t pair) {
    if constexpr (!kHasGroups) {
      return _mm512_set1_epi16(1);
    } else if constexpr (kHasNibbles) {
      __m512i nibbles = nibble_pairs(scales, pair);
      if constexpr (kHasShifts) nibbles = _mm512_and_si512(nibbles, _mm512_set1_epi16(7));
      return _mm512_add_epi16(_mm512_add_epi16(nibbles, nibbles), _mm512_set1_epi16(1));
    } else {
      const __m256i bytes =
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(scales.group_scales[pair]));
      if constexpr (kHasMins) return _mm512_cvtepu8_epi16(bytes);
      if constexpr (kHasMin)
        return _mm512_cvtepu8_epi16(_mm256_and_si256(bytes, _mm256_set1_epi8(0xF)));
      return _mm512_cvtepi8_epi16(bytes);
    }
  }
  // What goes with the sums of the inputs: the mins, or the scales for what is taken off the codes.
  static __m512i min_pairs(const PackedScales& scales, int64_t pair) {
    if constexpr (kHasShifts) {  // 7 or 9 times the scale
      const __m512i bit =
          _mm512_and_si512(_mm512_srli_epi16(nibble_pairs(scales, pair), 2), _mm512_set1_epi16(2));
      return _mm512_mullo_epi16(scale_pairs(scales, pair),
                                _mm512_add_epi16(bit, _mm512_set1_epi16(7)));
    } else if constexpr (kHasMins) {
      return _mm512_cvtepu8_epi16(
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(scales.group_mins[pair])));
    } else if constexpr (kHasMin) {
      const __m256i bytes =
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(scales.group_scales[pair]));
      return _mm512_cvtepu8_epi16(
          _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0xF)));
    } else {
      return scale_pairs(scales, pair);
    }
  }
  static __m512i first_of(__m512i pairs) {
    return _mm512_srai_epi32(_mm512_slli_epi32(pairs, 16), 16);
  }
  static __m512i second_of(__m512i pairs) { return _mm512_srai_epi32(pairs, 16); }
  // The floats of a block.
  static __m512 scale_of(const PackedScales& scales) {
    const __m512 scale = widen_halves(scales.scales);
    if constexpr (Divisor == 1) return scale;
    return _mm512_mul_ps(scale, _mm512_set1_ps(1.0F / Divisor));
  }
  static __m512 min_scale_of(const PackedScales& scales) {
    if constexpr (kHasShifts)
      return _mm512_mul_ps(scale_of(scales), _mm512_set1_ps(1.0F / PackedScales::kShiftUnit));
    else if constexpr (kHasMin)
      return widen_halves(scales.min_scales);
    else
      return _mm512_setzero_ps();
  }
  static __m512i times(__m512i dot, __m512i scale) {
    return kHasGroups ? _mm512_mullo_epi32(dot, scale) : dot;
  }
  static const void* sums_at(const Q8G256& x, int64_t pair) {
    return Group == 16 ? x.sums_of_16 + 2 * pair : x.sums_of_32 + 2 * pair;
  }

  static void read(const std::byte* run, __m512i (&codes)[8]) {
    read_run<Bits>(run, codes);
    if constexpr (Levels != nullptr) look_up(Levels, Offset, codes);
  }

  static __m512 finish_block(__m512 sum, __m512i total, __m512i min_sum, __m512 scale,
                             __m512 min_scale, float x_scale) {
    if constexpr (!kHasMin)
      total = _mm512_sub_epi32(total, _mm512_mullo_epi32(min_sum, _mm512_set1_epi32(Offset)));
    __m512 part = _mm512_mul_ps(scale, _mm512_cvtepi32_ps(total));
    if constexpr (kHasMin) part = _mm512_fnmadd_ps(min_scale, _mm512_cvtepi32_ps(min_sum), part);
    return _mm512_fmadd_ps(part, _mm512_set1_ps(x_scale), sum);
  }

  template <int64_t Tokens>
  static void direct(const std::byte* panel, const LinearArgs& args, const Q8G256* x,
                     int64_t stride, float* out) {
    const std::byte* run = panel;
    __m512 sums[Tokens];
    for (int64_t t = 0; t < Tokens; ++t)
      sums[t] = _mm512_setzero_ps();
    for (int64_t block = 0; block < args.cols / kPackedColumns; ++block, ++x) {
      prefetch_run<Tokens, kRunBytes>(run, kScaleBytes, args.weights_ahead);
      const ScaleLines<kScaleBytes> lines(run);
      const auto* scales = reinterpret_cast<const PackedScales*>(lines.bytes);
      run += kScaleBytes;
      __m512i totals[Tokens];
      __m512i min_sums[Tokens];
#pragma GCC unroll 8
      for (int64_t t = 0; t < Tokens; ++t)
        totals[t] = min_sums[t] = _mm512_setzero_si512();
      for (int64_t pair = 0; pair < kPairs; ++pair) {
        const __m512i pairs = scale_pairs(*scales, pair);
        const __m512i mins = min_pairs(*scales, pair);
#pragma GCC unroll 2
        for (int64_t r = 0; r < kRunsOfPair; ++r, run += kRunBytes) {
          __m512i codes[8];
          prefetch_run<Tokens, kRunBytes>(run, kRunBytes, args.weights_ahead);
          read(run, codes);
          const int64_t column = (pair * kRunsOfPair + r) * 32;
#pragma GCC unroll 8
          for (int64_t t = 0; t < Tokens; ++t) {
            const int8_t* in = x[t * stride].codes + column;
            if constexpr (Group == 32) {
              __m512i dot = _mm512_setzero_si512();
#pragma GCC unroll 8
              for (int64_t i = 0; i < 8; ++i)
                dot = _mm512_dpbusd_epi32(dot, codes[i], broadcast_4_bytes(in + 4 * i));
              totals[t] = _mm512_add_epi32(totals[t],
                                           times(dot, r == 0 ? first_of(pairs) : second_of(pairs)));
            } else {
              __m512i a = _mm512_setzero_si512();
              __m512i b = _mm512_setzero_si512();
#pragma GCC unroll 4
              for (int64_t i = 0; i < 4; ++i) {
                a = _mm512_dpbusd_epi32(a, codes[i], broadcast_4_bytes(in + 4 * i));
                b = _mm512_dpbusd_epi32(b, codes[4 + i], broadcast_4_bytes(in + 16 + 4 * i));
              }
              totals[t] = _mm512_add_epi32(totals[t], _mm512_mullo_epi32(a, first_of(pairs)));
              totals[t] = _mm512_add_epi32(totals[t], _mm512_mullo_epi32(b, second_of(pairs)));
            }
          }
        }
#pragma GCC unroll 8
        for (int64_t t = 0; t < Tokens; ++t)
          min_sums[t] = _mm512_dpwssd_epi32(min_sums[t], mins,
                                            broadcast_4_bytes(sums_at(x[t * stride], pair)));
      }
      const __m512 scale = scale_of(*scales);
      const __m512 min_scale = min_scale_of(*scales);
#pragma GCC unroll 8
      for (int64_t t = 0; t < Tokens; ++t)
        sums[t] =
            finish_block(sums[t], totals[t], min_sums[t], scale, min_scale, x[t * stride].scale);
    }
    for (int64_t t = 0; t < Tokens; ++t)
      _mm512_store_ps(out + t * 16, sums[t]);
  }

  static void fill(const std::byte* panel, const LinearArgs&, int64_t block, Tile& tile) {
    const std::byte* at = panel + block * (kScaleBytes + 8 * kRunBytes);
    const auto& scales = *reinterpret_cast<const PackedScales*>(at);
    const std::byte* run = at + kScaleBytes;
    for (int64_t r = 0; r < 8; ++r) {
      __m512i codes[8];
      read(run + r * kRunBytes, codes);
#pragma GCC unroll 8
      for (int64_t i = 0; i < 8; ++i)
        tile.codes[r * 8 + i] = codes[i];
    }
    for (int64_t pair = 0; pair < kPairs; ++pair) {
      const __m512i pairs = scale_pairs(scales, pair);
      tile.scales[2 * pair] = first_of(pairs);
      tile.scales[2 * pair + 1] = second_of(pairs);
      tile.min_pairs[pair] = min_pairs(scales, pair);
    }
    tile.scale = scale_of(scales);
    if constexpr (kHasMin) tile.min_scale = min_scale_of(scales);
  }

  template <int64_t Panels, int64_t Tokens>
  static void add(const Tile* tiles, const LinearArgs&, int64_t, const Q8G256* x, int64_t stride,
                  float* sums) {
    __m512i totals[Panels][Tokens];
#pragma GCC unroll 2
    for (int64_t p = 0; p < Panels; ++p)
#pragma GCC unroll 6
      for (int64_t t = 0; t < Tokens; ++t)
        totals[p][t] = _mm512_setzero_si512();
    const int8_t* in[Tokens];
#pragma GCC unroll 6
    for (int64_t t = 0; t < Tokens; ++t)
      in[t] = x[t * stride].codes;
    for (int64_t group = 0; group < 2 * kPairs; ++group) {
      __m512i dots[Panels][Tokens];
#pragma GCC unroll 2
      for (int64_t p = 0; p < Panels; ++p)
#pragma GCC unroll 6
        for (int64_t t = 0; t < Tokens; ++t)
          dots[p][t] = _mm512_setzero_si512();
#pragma GCC unroll 8
      for (int64_t i = 0; i < Group / 4; ++i) {
        __m512i codes[Panels];
#pragma GCC unroll 2
        for (int64_t p = 0; p < Panels; ++p)
          codes[p] = tiles[p].codes[group * (Group / 4) + i];
#pragma GCC unroll 6
        for (int64_t t = 0; t < Tokens; ++t) {
          const __m512i four = broadcast_4_bytes(in[t] + group * Group + i * 4);
#pragma GCC unroll 2
          for (int64_t p = 0; p < Panels; ++p) {
            dots[p][t] = _mm512_dpbusd_epi32(dots[p][t], codes[p], four);
          }
        }
      }
#pragma GCC unroll 2
      for (int64_t p = 0; p < Panels; ++p)
#pragma GCC unroll 6
        for (int64_t t = 0; t < Tokens; ++t)
          totals[p][t] = _mm512_add_epi32(totals[p][t], times(dots[p][t], tiles[p].scales[group]));
    }
#pragma GCC unroll 2
    for (int64_t p = 0; p < Panels; ++p) {
      const __m512 scale = tiles[p].scale;
      const __m512 min_scale = kHasMin ? tiles[p].min_scale : scale;
#pragma GCC unroll 6
      for (int64_t t = 0; t < Tokens; ++t) {
        const Q8G256& from = x[t * stride];
        float* sum = sums + t * kTokenSums + p * 16;
        __m512i min_sum = _mm512_setzero_si512();
#pragma GCC unroll 8
        for (int64_t pair = 0; pair < kPairs; ++pair)
          min_sum = _mm512_dpwssd_epi32(min_sum, tiles[p].min_pairs[pair],
                                        broadcast_4_bytes(sums_at(from, pair)));
        _mm512_store_ps(sum, finish_block(_mm512_load_ps(sum), totals[p][t], min_sum, scale,
                                          min_scale, from.scale));
      }
    }
  }
};

using Blocks2Min = BlocksCore<2, 16, BlockScales4, 0>;
using Blocks3 = BlocksCore<3, 16, BlockScales16, 4>;
using Blocks4Min = BlocksCore<4, 32, BlockScales32, 0>;
using Blocks5Min = BlocksCore<5, 32, BlockScales32, 0>;
using Blocks6 = BlocksCore<6, 16, BlockScales16, 32>;
using BlocksIq4 = BlocksCore<4, 32, BlockScalesIq4, 127, kIq4Codes>;
using Blocks2 = BlocksCore<2, 32, BlockScalesOne, 1>;
using BlocksIq1 = BlocksCore<2, 32, BlockShifts32, 0>;
using BlocksIq1M = BlocksCore<3, 16, BlockNibbles16, 9, kIq1Codes, kIq1Divisor>;
using BlocksIq2 = BlocksCore<3, 16, BlockNibbles16, 43, kIq2Codes, kIq2Divisor>;
using BlocksIq3Xxs = BlocksCore<4, 32, BlockNibbles32, 31, kIq3XxsCodes, kIq3XxsDivisor>;
using BlocksIq3S = BlocksCore<4, 32, BlockNibbles32, 15, kIq3SCodes>;

}  // namespace
}  // namespace ingot::cpu

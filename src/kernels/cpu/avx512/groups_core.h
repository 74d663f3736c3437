// SPDX-License-Identifier: Apache-2.0
// The arithmetic of packings with a float scale per group of 32, or of 16 (see panel_walk.h), for
// AVX-512 and as the base of AMX. For 32 columns of 16 rows 8 dot instructions and 3 in float for
// the scales (4 with minimums; with two scales 6, and 4 dot instructions more).
#pragma once

#include <type_traits>

#include "kernels/code_levels.h"
#include "kernels/cpu/avx512/panel_walk.h"

namespace ingot::cpu {
namespace {

struct HalfScales {
  static constexpr int64_t kBytes = 32;
  static constexpr bool kHasMin = false;
  static __m512 scales(const std::byte* from) { return widen_halves(from); }
  static __m512 mins(const std::byte*) { return _mm512_setzero_ps(); }
};
struct HalfScalesAndMins {
  static constexpr int64_t kBytes = 64;
  static constexpr bool kHasMin = true;
  static __m512 scales(const std::byte* from) { return widen_halves(from); }
  static __m512 mins(const std::byte* from) { return widen_halves(from + 32); }
};
struct ZeroScales {  // floats of 24 bits above zero points of 8, which take the place of minimums
  static constexpr int64_t kBytes = 64;
  static constexpr bool kHasMin = false;
  static __m512 scales(const std::byte* from) {
    return _mm512_castsi512_ps(_mm512_andnot_si512(_mm512_set1_epi32(0xFF), load_line(from)));
  }
  static __m512 mins(const std::byte* from) {
    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_set1_epi32(0xFF), load_line(from)));
  }
};
struct FloatScales {
  static constexpr int64_t kBytes = 64;
  static constexpr bool kHasMin = false;
  static __m512 scales(const std::byte* from) { return _mm512_loadu_ps(from); }
  static __m512 mins(const std::byte*) { return _mm512_setzero_ps(); }
};
struct PowerScales {  // exponents alone; halved, as the levels are doubled
  static constexpr int64_t kBytes = 16;
  static constexpr bool kHasMin = false;
  static __m512 scales(const std::byte* from) {
    const __m512i exponents =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    // Halving would leave nothing of the exponents 0 and 1 but the denormals that stand for them.
    const __m512 halves = _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_sub_epi32(exponents, _mm512_set1_epi32(1)), 23));
    const __m512i denormals = _mm512_srlv_epi32(_mm512_set1_epi32(1 << 22),
                                                _mm512_sub_epi32(_mm512_set1_epi32(1), exponents));
    const __mmask16 is_small = _mm512_cmple_epi32_mask(exponents, _mm512_set1_epi32(1));
    const __mmask16 is_nan = _mm512_cmpeq_epi32_mask(exponents, _mm512_set1_epi32(255));
    const __m512 values = _mm512_mask_mov_ps(halves, is_small, _mm512_castsi512_ps(denormals));
    return _mm512_mask_mov_ps(values, is_nan, _mm512_set1_ps(__builtin_nanf("")));
  }
  static __m512 mins(const std::byte*) { return _mm512_setzero_ps(); }
};

struct PairScales {  // bytes of e4m3 for 16 columns and for the next 16; halved, as the levels are
                     // doubled
  static constexpr int64_t kBytes = 32;
  static constexpr bool kHasMin = false;
  static __m512 scales(const std::byte* from) {
    const __m256i words =
        _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    // As a half it is 256 times too small.
    return _mm512_mul_ps(_mm512_cvtph_ps(_mm256_slli_epi16(words, 7)), _mm512_set1_ps(128));
  }
  static __m512 mins(const std::byte*) { return _mm512_setzero_ps(); }
};

// Levels of two bytes take two rounds of products, the high bytes' first.
template <int Bits, class Scales, int Offset, const int8_t* Levels = nullptr,
          const int8_t* LowLevels = nullptr>
struct GroupsCore {
  using Input = Q8G32;
  static constexpr int64_t kFewTokens = 40;
  static constexpr int64_t kRunBytes = kLine * Bits;
  static constexpr int64_t kPassTokens = kTileTokens;
  static constexpr int64_t kScaleBytes = 8 * Scales::kBytes;  // of a block
  static_assert(kScaleBytes % kLine == 0);
  static constexpr bool kHasZero = std::is_same_v<Scales, ZeroScales>;
  // Codes that leave room in a byte take their zero points off when a tile is filled, but for a
  // constant that keeps them without sign.
  static constexpr bool kFoldsZero = kHasZero && Bits <= 4;
  static constexpr int kTileOffset = kFoldsZero ? 16 : Offset;
  static constexpr bool kHasLow = LowLevels != nullptr;
  static constexpr int64_t kRunCodes = kHasLow ? 16 : 8;  // registers of a run
  static constexpr int64_t kParts = std::is_same_v<Scales, PairScales> ? 2 : 1;  // scales of a run
  static constexpr int64_t kPartCodes = kRunCodes / kParts;
  static_assert(kParts == 1 || !kHasLow);

  struct alignas(64) Tile {
    __m512i codes[8 * kRunCodes];
    __m512 scales[8][kParts];
    __m512 mins[8];
  };

  static int64_t runs_of(const LinearArgs& args) { return args.cols / 32; }
  static void read(const std::byte* run, __m512i (&codes)[kRunCodes]) {
    auto& high = *reinterpret_cast<__m512i(*)[8]>(codes);
    read_run<Bits>(run, high);
    if constexpr (kHasLow) {
      auto& low = *reinterpret_cast<__m512i(*)[8]>(codes + 8);
#pragma GCC unroll 8
      for (int64_t i = 0; i < 8; ++i)
        low[i] = high[i];
      look_up(LowLevels, 0, low);
    }
    if constexpr (Levels != nullptr) look_up(Levels, Offset, high);
  }
  // What is taken off the codes, taken off their products' sum beforehand. A zero point fits the
  // low word of its lane and a sum of inputs does too.
  static __m512i start(const Q8G32& x, int64_t group, __m512 zero) {
    if constexpr (kHasZero) {
      return _mm512_dpwssd_epi32(_mm512_setzero_si512(), _mm512_castps_si512(zero),
                                 _mm512_set1_epi32(-x.sums[group]));
    }
    if constexpr (Offset == 0) return _mm512_setzero_si512();
    return _mm512_set1_epi32(-Offset * x.sums[group]);
  }
  static __m512i start_in_tile(const Q8G32& x, int64_t group, __m512 zero) {
    if constexpr (kFoldsZero) return _mm512_set1_epi32(-kTileOffset * x.sums[group]);
    return start(x, group, zero);
  }
  // The same of the first part of a run, whose sum of inputs is not at hand; what it takes off, the
  // second does not.
  static __m512i start_first(const Q8G32& x, int64_t group) {
    __m512i sum = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int64_t i = 0; i < kPartCodes; ++i)
      sum = _mm512_dpbusd_epi32(sum, every_byte(Offset),
                                broadcast_4_bytes(x.codes + group * 32 + 4 * i));
    return _mm512_sub_epi32(_mm512_setzero_si512(), sum);
  }
  static __m512i after_high(__m512i dot) {
    return _mm512_slli_epi32(dot, 7);
  }
  static __m512 scale_group(__m512 sum, __m512i dot, float x_scale, float x_weighed, __m512 scale,
                            __m512 min) {
    sum = _mm512_fmadd_ps(_mm512_mul_ps(scale, _mm512_set1_ps(x_scale)), _mm512_cvtepi32_ps(dot),
                          sum);
    if constexpr (Scales::kHasMin) sum = _mm512_fmadd_ps(min, _mm512_set1_ps(x_weighed), sum);
    return sum;
  }
  static __m512 finish_group(__m512 sum, __m512i dot, const Q8G32& x, int64_t group, __m512 scale,
                             __m512 min) {
    return scale_group(sum, dot, x.scales[group], x.weighed[group], scale, min);
  }

  template <int64_t Tokens>
  static void direct(const std::byte* panel, const LinearArgs& args, const Q8G32* x, int64_t stride,
                     float* out) {
    const std::byte* run = panel;
    __m512 sums[Tokens];
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t)
      sums[t] = _mm512_setzero_ps();
    const int64_t blocks = (args.cols + kPackedColumns - 1) / kPackedColumns;
    for (int64_t block = 0; block < blocks; ++block, ++x) {
      prefetch_run<Tokens, kRunBytes>(run, kScaleBytes, args.weights_ahead);
      const ScaleLines<kScaleBytes> lines(run);
      const std::byte* scales = lines.bytes;
      run += kScaleBytes;
      const int64_t groups = groups_of(args, block);
      for (int64_t group = 0; group < groups;
           ++group, run += kRunBytes, scales += Scales::kBytes) {
        __m512i codes[kRunCodes];
        prefetch_run<Tokens, kRunBytes>(run, kRunBytes, args.weights_ahead);
        read(run, codes);
        add_run<Tokens>(codes, scales, x, stride, group, sums);
      }
    }
    for (int64_t t = 0; t < Tokens; ++t)
      _mm512_store_ps(out + t * 16, sums[t]);
  }
  template <int64_t Tokens>
  [[gnu::always_inline]] static void add_run(const __m512i (&codes)[kRunCodes],
                                             const std::byte* scales, const Q8G32* x,
                                             int64_t stride, int64_t group,
                                             __m512 (&sums)[Tokens]) {
    __m512 scale[kParts];
#pragma GCC unroll 2
    for (int64_t part = 0; part < kParts; ++part)
      scale[part] = Scales::scales(scales + part * 16);
    const __m512 min = Scales::mins(scales);
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t) {
      const Q8G32& in = x[t * stride];
      __m512i dot = start(in, group, min);
      __m512i first = dot;
      if constexpr (kParts == 2) {
        first = start_first(in, group);
        dot = _mm512_sub_epi32(dot, first);
      }
#pragma GCC unroll 16
      for (int64_t i = 0; i < kRunCodes; ++i) {
        if (kHasLow && i == 8) dot = after_high(dot);
        const __m512i four = broadcast_4_bytes(in.codes + group * 32 + 4 * (i % 8));
        __m512i& part = kParts == 2 && i < kPartCodes ? first : dot;
        part = _mm512_dpbusd_epi32(part, codes[i], four);
      }
      if constexpr (kParts == 2) sums[t] = finish_group(sums[t], first, in, group, scale[0], min);
      sums[t] = finish_group(sums[t], dot, in, group, scale[kParts - 1], min);
    }
  }

  static int64_t groups_of(const LinearArgs& args, int64_t block) {
    const int64_t left = runs_of(args) - block * 8;
    return left < 8 ? left : 8;
  }

  static void fill(const std::byte* panel, const LinearArgs& args, int64_t block, Tile& tile) {
    const std::byte* scales = panel + block * (kScaleBytes + 8 * kRunBytes);
    const std::byte* run = scales + kScaleBytes;
    const int64_t groups = groups_of(args, block);
    for (int64_t r = 0; r < groups; ++r) {  // first, as they lie first
      for (int64_t part = 0; part < kParts; ++part)
        tile.scales[r][part] = Scales::scales(scales + r * Scales::kBytes + part * 16);
      tile.mins[r] = Scales::mins(scales + r * Scales::kBytes);
    }
    for (int64_t r = 0; r < groups; ++r) {
      __m512i codes[kRunCodes];
      read(run + r * kRunBytes, codes);
      [[maybe_unused]] __m512i lift;
      if constexpr (kFoldsZero) {  // a lane's zero point in all of its four bytes
        const __m512i zeros = _mm512_mullo_epi32(_mm512_castps_si512(tile.mins[r]), every_byte(1));
        lift = _mm512_sub_epi8(every_byte(kTileOffset), zeros);
      }
#pragma GCC unroll 16
      for (int64_t i = 0; i < kRunCodes; ++i) {
        if constexpr (kFoldsZero) codes[i] = _mm512_add_epi8(codes[i], lift);
        tile.codes[r * kRunCodes + i] = codes[i];
      }
    }
  }

  template <int64_t Panels, int64_t Tokens>
  static void add(const Tile* tiles, const LinearArgs& args, int64_t block, const Q8G32* x,
                  int64_t stride, float* out) {
    __m512 sums[Panels][Tokens];
#pragma GCC unroll 2
    for (int64_t p = 0; p < Panels; ++p)
#pragma GCC unroll 6
      for (int64_t t = 0; t < Tokens; ++t)
        sums[p][t] = _mm512_load_ps(out + t * kTokenSums + p * 16);
    const int64_t groups = groups_of(args, block);
    for (int64_t group = 0; group < groups; ++group) {
      __m512i dots[Panels][Tokens];
      const auto finish = [&](int64_t part) {
#pragma GCC unroll 2
        for (int64_t p = 0; p < Panels; ++p)
#pragma GCC unroll 6
          for (int64_t t = 0; t < Tokens; ++t)
            sums[p][t] = finish_group(sums[p][t], dots[p][t], x[t * stride], group,
                                      tiles[p].scales[group][part], tiles[p].mins[group]);
      };
      [[maybe_unused]] __m512i rest[Tokens];  // that the second part takes off
#pragma GCC unroll 6
      for (int64_t t = 0; t < Tokens; ++t) {
#pragma GCC unroll 2
        for (int64_t p = 0; p < Panels; ++p)
          dots[p][t] = start_in_tile(x[t * stride], group, tiles[p].mins[group]);
        if constexpr (kParts == 2) {
          const __m512i first = start_first(x[t * stride], group);
          rest[t] = _mm512_sub_epi32(dots[0][t], first);
#pragma GCC unroll 2
          for (int64_t p = 0; p < Panels; ++p)
            dots[p][t] = first;
        }
      }
      const Q8G32* in = x;
#pragma GCC unroll 16
      for (int64_t i = 0; i < kRunCodes; ++i) {
        if constexpr (kParts == 2) {
          if (i == kPartCodes) {
            finish(0);
#pragma GCC unroll 2
            for (int64_t p = 0; p < Panels; ++p)
#pragma GCC unroll 6
              for (int64_t t = 0; t < Tokens; ++t)
                dots[p][t] = rest[t];
          }
        }
        // Read anew: kept for the second round, the inputs of six tokens would go through memory
        // as vectors.
        if (kHasLow && i == 8) asm("" : "+r"(in));
        __m512i codes[Panels];
#pragma GCC unroll 2
        for (int64_t p = 0; p < Panels; ++p)
          codes[p] = tiles[p].codes[group * kRunCodes + i];
#pragma GCC unroll 6
        for (int64_t t = 0; t < Tokens; ++t) {
          const __m512i four = broadcast_4_bytes(in[t * stride].codes + group * 32 + i % 8 * 4);
#pragma GCC unroll 2
          for (int64_t p = 0; p < Panels; ++p) {
            if (kHasLow && i == 8) dots[p][t] = after_high(dots[p][t]);
            dots[p][t] = _mm512_dpbusd_epi32(dots[p][t], codes[p], four);
          }
        }
      }
      finish(kParts - 1);
    }
#pragma GCC unroll 2
    for (int64_t p = 0; p < Panels; ++p)
#pragma GCC unroll 6
      for (int64_t t = 0; t < Tokens; ++t)
        _mm512_store_ps(out + t * kTokenSums + p * 16, sums[p][t]);
  }
};

using Groups4 = GroupsCore<4, HalfScales, 8>;
using Groups4Min = GroupsCore<4, HalfScalesAndMins, 0>;
using Groups5 = GroupsCore<5, HalfScales, 16>;
using Groups5Min = GroupsCore<5, HalfScalesAndMins, 0>;
using Groups8 = GroupsCore<8, HalfScales, 128>;
using Groups1 = GroupsCore<1, HalfScales, 1, kSignCodes>;
using Groups2 = GroupsCore<2, HalfScales, 1>;
using GroupsNvfp4 = GroupsCore<4, PairScales, 12, kE2m1Codes>;
using GroupsIq4 = GroupsCore<4, HalfScales, 127, kIq4Codes>;
using GroupsFp4 = GroupsCore<4, PowerScales, 12, kE2m1Codes>;
using GroupsFp4Bytes = GroupsCore<4, HalfScales, 120, kBnbFp4Bytes>;
template <int Bits>
using GroupsZero = GroupsCore<Bits, ZeroScales, 0>;
using GroupsNf4 = GroupsCore<4, FloatScales, 127, kNf4High, kNf4Low>;
using GroupsNf4Bytes = GroupsCore<4, HalfScales, 124, kNf4Bytes>;
using GroupsBnbFp4 = GroupsCore<4, FloatScales, 2, kBnbFp4High, kBnbFp4Low>;

}  // namespace
}  // namespace ingot::cpu

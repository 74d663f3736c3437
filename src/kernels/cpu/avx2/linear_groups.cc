// SPDX-License-Identifier: Apache-2.0
// Packings with a float scale per group of 32, or of 16. One token: bound by the weights' bytes.
// Many: for 32 columns of 8 rows 8 multiplies of bytes and 8 additions of words, one to widen and 3
// in float for the scales (4 with minimums); 8-bit codes and far levels as words (group_words.h).
// Show it with `ingot bench kernels linear_groups`.
#include <type_traits>

#include "kernels/code_levels.h"
#include "kernels/cpu/avx2/group_scales.h"
#include "kernels/cpu/avx2/group_words.h"
#include "kernels/cpu/avx2/linear.h"
#include "kernels/cpu/avx2/panel_walk.h"

namespace ingot::cpu {
namespace {

// Levels of two bytes take two rounds of products, the high bytes' first.
template <class Of, class Scales, class Low = NoCodes>
struct GroupsCore {
  using Input = Q8G32;
  // Of a panel for each run: its codes and its scales.
  static constexpr int64_t kStreamBytes = Of::kRunBytes + Scales::kBytes;
  static constexpr bool kHasLow = !std::is_same_v<Low, NoCodes>;
  static constexpr int64_t kParts = std::is_same_v<Scales, PairScales> ? 2 : 1;  // scales of a run
  static_assert(kParts == 1 || (Of::kPlanes == 1 && !kHasLow));
  static constexpr int64_t kWide = Of::kPlanes == 2 || kHasLow ? 1 : kWideTokens;

  struct alignas(64) Tile {
    CodeTile<Of> codes;
    __m256 scales[8][kParts][2];
    __m256 mins[8][2];
  };

  static int64_t runs_of(const LinearArgs& args) { return args.cols / 32; }
  static constexpr int64_t kScaleBytes = 8 * Scales::kBytes;  // of a block
  static __m256 finish_group(__m256 sum, __m256i dot, const Q8G32& x, int64_t group, __m256 scale,
                             __m256 min) {
    if constexpr (std::is_same_v<Scales, ZeroScales>) {
      // Words: the upper ones of the sums are zeros.
      const __m256i zero = _mm256_castps_si256(min);
      dot =
          _mm256_sub_epi32(dot, _mm256_madd_epi16(zero, _mm256_set1_epi32(x.sums[group] & 0xFFFF)));
    }
    if constexpr (Of::kOffset != 0) {
      __m256i taken_off = times_offset<Of>(broadcast_4_bytes(x.sums + group));
      if constexpr (kHasLow) taken_off = _mm256_slli_epi32(taken_off, 7);
      dot = _mm256_sub_epi32(dot, taken_off);
    }
    sum = add_scaled(sum, dot, x, group, scale);
    if constexpr (Scales::kHasMin)
      sum = _mm256_fmadd_ps(min, _mm256_set1_ps(x.weighed[group]), sum);
    return sum;
  }
  static __m256 add_scaled(__m256 sum, __m256i dot, const Q8G32& x, int64_t group, __m256 scale) {
    return _mm256_fmadd_ps(_mm256_mul_ps(scale, _mm256_set1_ps(x.scales[group])),
                           _mm256_cvtepi32_ps(dot), sum);
  }
  // What is taken off the first 16 columns' codes, whose sums of inputs are not at hand.
  template <int64_t Tokens>
  [[gnu::always_inline]] static void take_off_first(const int8_t* const (&in)[Tokens],
                                                    int64_t group, __m256i (&out)[Tokens]) {
    const __m256i offset = every_byte(Of::kOffset);
    const __m256i offsets[4] = {offset, offset, offset, offset};
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t)
      out[t] = _mm256_setzero_si256();
    add_products<Of, 16>(offsets, in, group * 32, _mm256_set1_epi16(1), out);
  }
  // Both parts of a group.
  static __m256 finish_parts(__m256 sum, __m256i first, __m256i second, __m256i taken_off,
                             const Q8G32& x, int64_t group, __m256 scale, __m256 second_scale) {
    const __m256i all = times_offset<Of>(broadcast_4_bytes(x.sums + group));
    sum = add_scaled(sum, _mm256_sub_epi32(first, taken_off), x, group, scale);
    return add_scaled(sum, _mm256_sub_epi32(second, _mm256_sub_epi32(all, taken_off)), x, group,
                      second_scale);
  }

  static int64_t groups_of(const LinearArgs& args, int64_t block) {
    const int64_t left = runs_of(args) - block * 8;
    return left < 8 ? left : 8;
  }

  // One group of eight rows.
  template <int64_t Tokens>
  [[gnu::always_inline]] static void add_group(const std::byte* group_scales, const std::byte* run,
                                               int64_t half, int64_t group,
                                               const int8_t* const (&in)[Tokens], const Q8G32* x,
                                               int64_t stride, __m256 (&sums)[Tokens]) {
    __m256i dots[Tokens];
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t)
      dots[t] = _mm256_setzero_si256();
    __m256i codes[Of::kPlanes][8];
    Of::read(run, codes);
    const __m256i one = _mm256_set1_epi16(1);
    const __m256 scale = Scales::scales(group_scales, half);
    if constexpr (kParts == 2) {
      __m256i second[Tokens];
      __m256i taken_off[Tokens];
#pragma GCC unroll 8
      for (int64_t t = 0; t < Tokens; ++t)
        second[t] = _mm256_setzero_si256();
      take_off_first(in, group, taken_off);
      add_products<Of, 16>(codes[0], in, group * 32, one, dots);
      add_products<Of, 16>(codes[0] + 4, in, group * 32 + 16, one, second);
#pragma GCC unroll 8
      for (int64_t t = 0; t < Tokens; ++t)
        sums[t] = finish_parts(sums[t], dots[t], second[t], taken_off[t], x[t * stride], group,
                               scale, Scales::scales(group_scales + 16, half));
      return;
    }
    add_products<Of, 32>(codes[0], in, group * 32, one, dots);
    if constexpr (Of::kPlanes == 2)
      add_products<Of, 32>(codes[1], in, group * 32, upper_factor(one), dots);
    if constexpr (kHasLow) {
#pragma GCC unroll 8
      for (int64_t t = 0; t < Tokens; ++t)
        dots[t] = _mm256_slli_epi32(dots[t], 7);
      __m256i low[Low::kPlanes][8];
      Low::read(run, low);
      add_products<Low, 32>(low[0], in, group * 32, one, dots);
      if constexpr (Low::kPlanes == 2)
        add_products<Low, 32>(low[1], in, group * 32, upper_factor(one), dots);
    }
    const __m256 min = Scales::mins(group_scales, half);
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t)
      sums[t] = finish_group(sums[t], dots[t], x[t * stride], group, scale, min);
  }

  // Some groups, of one input block, of the halves [First, Last) of a panel's rows.
  template <int64_t First, int64_t Last, int64_t Tokens>
  [[gnu::always_inline]] static void add_halves(const std::byte* scales, const std::byte* run,
                                                WeightsAhead weights_ahead, int64_t groups,
                                                const Q8G32* x, int64_t stride,
                                                __m256 (&sums)[2][Tokens]) {
    const std::byte* ahead = run + kPrefetchBytes;
    const int8_t* in[Tokens];
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t)
      in[t] = x[t * stride].codes;
    for (int64_t group = 0; group < groups; ++group) {
      if constexpr (First == 0)
        prefetch_stream<kStreamBytes, Last == 2>(ahead + group * kStreamBytes, weights_ahead);
#pragma GCC unroll 2
      for (int64_t h = First; h < Last; ++h)
        add_group(scales + group * Scales::kBytes, run + group * Of::kRunBytes + h * kHalfLine, h,
                  group, in, x, stride, sums[h]);
    }
  }

  template <int64_t Tokens>
  [[gnu::noinline]] static void direct(const std::byte* panel, const LinearArgs& args,
                                       const Q8G32* x, int64_t stride, float* out) {
    const std::byte* run = panel;
    [[maybe_unused]] __m256i lines[kScaleBytes / kHalfLine];
    __m256 sums[2][Tokens];
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t)
      sums[0][t] = sums[1][t] = _mm256_setzero_ps();
    for (int64_t block = 0; block < stride; ++block, run += 8 * Of::kRunBytes) {
      const int64_t groups = groups_of(args, block);
      const std::byte* scales = run;
      // Where whole lines of scales are read in turn with the codes, the processor sees no stream
      // and memory gives a third: they are copied in order first.
      if constexpr (Scales::kBytes == kLine) {
#pragma GCC unroll 16
        for (int64_t i = 0; i < kScaleBytes / kHalfLine; ++i)
          lines[i] = load_8_rows(run + i * kHalfLine);
        scales = reinterpret_cast<const std::byte*>(lines);
      }
      run += kScaleBytes;
      if constexpr (Tokens <= kWide) {
        add_halves<0, 2>(scales, run, args.weights_ahead, groups, x + block, stride, sums);
      } else {
        add_halves<0, 1>(scales, run, args.weights_ahead, groups, x + block, stride, sums);
        add_halves<1, 2>(scales, run, args.weights_ahead, groups, x + block, stride, sums);
      }
    }
    for (int64_t t = 0; t < Tokens; ++t) {
      _mm256_store_ps(out + t * 16, sums[0][t]);
      _mm256_store_ps(out + t * 16 + 8, sums[1][t]);
    }
  }

  static void fill(const std::byte* panel, const LinearArgs& args, int64_t block, Tile& tile) {
    const std::byte* scales = panel + block * (kScaleBytes + 8 * Of::kRunBytes);
    const int64_t groups = groups_of(args, block);
    tile.codes.fill(scales + kScaleBytes, groups);
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t half = 0; half < 2; ++half) {
        for (int64_t part = 0; part < kParts; ++part)
          tile.scales[g][part][half] =
              Scales::scales(scales + g * Scales::kBytes + part * 16, half);
        tile.mins[g][half] = Scales::mins(scales + g * Scales::kBytes, half);
      }
    }
  }

  // Out of line, for the registers' sake.
  template <int64_t Tokens>
  [[gnu::noinline]] static void add(const Tile& tile, const LinearArgs& args, int64_t block,
                                    const Q8G32* x, int64_t stride, float* sums) {
    static_assert(Of::kPlanes == 1 && !kHasLow);
    const int8_t* in[Tokens];
#pragma GCC unroll 4
    for (int64_t t = 0; t < Tokens; ++t)
      in[t] = x[t * stride].codes;
    const __m256i one = _mm256_set1_epi16(1);
    const __m256i factors[1][2] = {{one, one}};
    const int64_t groups = groups_of(args, block);
    for (int64_t group = 0; group < groups; ++group) {
      __m256i dots[2][Tokens];
#pragma GCC unroll 4
      for (int64_t t = 0; t < Tokens; ++t)
        dots[0][t] = dots[1][t] = _mm256_setzero_si256();
      if constexpr (kParts == 2) {
        add_parts(tile, group, in, factors, x, stride, sums, dots);
        continue;
      }
      tile.codes.template add<32>(group * 32, in, factors, dots);
#pragma GCC unroll 4
      for (int64_t t = 0; t < Tokens; ++t)
#pragma GCC unroll 2
        for (int64_t h = 0; h < 2; ++h) {
          float* sum = sums + t * kTokenSums + h * 8;
          _mm256_store_ps(sum, finish_group(_mm256_load_ps(sum), dots[h][t], x[t * stride], group,
                                            tile.scales[group][0][h], tile.mins[group][h]));
        }
    }
  }
  // One group of two parts; dots are zeros.
  template <int64_t Tokens>
  [[gnu::always_inline]] static void add_parts(const Tile& tile, int64_t group,
                                               const int8_t* const (&in)[Tokens],
                                               const __m256i (*factors)[2], const Q8G32* x,
                                               int64_t stride, float* sums,
                                               __m256i (&dots)[2][Tokens]) {
    __m256i second[2][Tokens];
    __m256i taken_off[Tokens];
#pragma GCC unroll 4
    for (int64_t t = 0; t < Tokens; ++t)
      second[0][t] = second[1][t] = _mm256_setzero_si256();
    take_off_first(in, group, taken_off);
    tile.codes.template add<16>(group * 32, in, factors, dots);
    tile.codes.template add<16>(group * 32 + 16, in, factors, second);
#pragma GCC unroll 4
    for (int64_t t = 0; t < Tokens; ++t)
#pragma GCC unroll 2
      for (int64_t h = 0; h < 2; ++h) {
        float* sum = sums + t * kTokenSums + h * 8;
        _mm256_store_ps(sum, finish_parts(_mm256_load_ps(sum), dots[h][t], second[h][t],
                                          taken_off[t], x[t * stride], group,
                                          tile.scales[group][0][h], tile.scales[group][1][h]));
      }
  }
};

// Few tokens as bytes, many as words.
template <class Of, class Scales, class Low = NoCodes>
void linear_by_words(const LinearArgs& args, int64_t begin, int64_t end) {
  const int64_t blocks = (args.cols + kPackedColumns - 1) / kPackedColumns;
  if (args.tokens < kAvx2WordsTokens) {
    linear_direct<GroupsCore<Of, Scales, Low>>(args, begin, end, blocks);
  } else {
    linear_by_tiles<GroupWords<Of, Scales, Low>>(args, begin, end, blocks);
  }
}
static_assert(kAvx2WordsTokens == kDirectTokens + 1);

}  // namespace

void linear_groups4_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsCore<Codes<4, 8>, HalfScales>>(args, begin, end);
}
void linear_groups4min_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsCore<Codes<4, 0>, HalfScalesAndMins>>(args, begin, end);
}
void linear_groups5_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsCore<Codes<5, 16>, HalfScales>>(args, begin, end);
}
void linear_groups5min_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsCore<Codes<5, 0>, HalfScalesAndMins>>(args, begin, end);
}
void linear_groups8_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_words<Codes<8, 128>, HalfScales>(args, begin, end);
}
void linear_groups_iq4_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_words<Codes<4, 128, kIq4Codes, 241>, HalfScales>(args, begin, end);
}
void linear_groups_nf4bytes_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_words<Codes<4, 128, kNf4Bytes, 252>, HalfScales>(args, begin, end);
}
void linear_groups_fp4_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsCore<Codes<4, 16, kE2m1Codes, 28>, PowerScales>>(args, begin, end);
}
void linear_groups_fp4bytes_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_words<Codes<4, 128, kBnbFp4Bytes, 248>, HalfScales>(args, begin, end);
}
void linear_groups2zero_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsCore<Codes<2, 0>, ZeroScales>>(args, begin, end);
}
void linear_groups3zero_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsCore<Codes<3, 0>, ZeroScales>>(args, begin, end);
}
void linear_groups4zero_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsCore<Codes<4, 0>, ZeroScales>>(args, begin, end);
}
void linear_groups8zero_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_words<Codes<8, 0>, ZeroScales>(args, begin, end);
}
void linear_groups_nf4_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_words<Codes<4, 128, kNf4High, 255>, FloatScales, Codes<4, 0, kNf4Low, 127>>(args, begin,
                                                                                        end);
}
void linear_groups_bnb_fp4_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_words<Codes<4, 2, kBnbFp4High, 3>, FloatScales, Codes<4, 0, kBnbFp4Low, 127>>(
      args, begin, end);
}
void linear_groups1_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsCore<Codes<1, 1, kSignCodes, 2>, HalfScales>>(args, begin, end);
}
void linear_groups2_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsCore<Codes<2, 1>, HalfScales>>(args, begin, end);
}
void linear_groups_nvfp4_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsCore<Codes<4, 16, kE2m1Codes, 28>, PairScales>>(args, begin, end);
}

}  // namespace ingot::cpu

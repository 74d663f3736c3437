// SPDX-License-Identifier: Apache-2.0
// Packings with whole scales in blocks of 256. One token: bound by the weights' bytes. Many: for 32
// columns of 8 rows 8 multiplies of bytes and 8 additions of words; the multiply that widens the
// words is the one by the group's scale. Show it with `ingot bench kernels linear_blocks`.
#include "kernels/code_levels.h"
#include "kernels/cpu/avx2/linear.h"
#include "kernels/cpu/avx2/panel_walk.h"

namespace ingot::cpu {
namespace {

template <class Of, int64_t Group, class PackedScales, int Divisor = 1>
struct BlocksCore {
  using Input = Q8G256;
  static constexpr int64_t kPairs = 128 / Group;  // of groups
  static constexpr int64_t kRunsOfPair = Group / 16;
  static constexpr bool kHasShifts = requires(PackedScales s) { s.kShiftUnit; };
  static constexpr bool kHasMin = kHasShifts || requires(PackedScales s) { s.min_scales; };
  static constexpr bool kHasMins = requires(PackedScales s) { s.group_mins; };
  static constexpr bool kHasNibbles = requires(PackedScales s) { s.nibbles; };
  static constexpr bool kHasGroups = kHasNibbles || requires(PackedScales s) { s.group_scales; };
  // Of a panel for each run: its codes and its share of the scales.
  static constexpr int64_t kStreamBytes = Of::kRunBytes + sizeof(PackedScales) / 8;
  static constexpr bool kHasMinSums = kHasMin || Of::kOffset != 0;

  struct alignas(64) Tile {
    CodeTile<Of> codes;
    __m256i factors[2 * kPairs][Of::kPlanes][2];
    __m256i min_pairs[kPairs][2];
    __m256 scale[2];
    __m256 min_scale[2];
  };

  static __m128i load_pairs(const void* from, int64_t half) {
    return load_16_bytes(static_cast<const std::byte*>(from) + half * 16);
  }
  // Nibbles of two neighbouring groups as pairs of words, [8 rows][2].
  static __m256i nibble_pairs(const PackedScales& scales, int64_t pair, int64_t half) {
    const __m128i both = _mm_cvtepu8_epi16(
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(scales.nibbles[pair] + half * 8)));
    const __m128i apart = _mm_or_si128(both, _mm_slli_epi16(both, 4));
    return _mm256_cvtepu8_epi16(_mm_and_si128(apart, _mm_set1_epi8(0xF)));
  }
  // The same of scales.
  static __m256i scale_pairs(const PackedScales& scales, int64_t pair, int64_t half) {
    if constexpr (!kHasGroups) {
      return _mm256_set1_epi16(1);
    } else if constexpr (kHasNibbles) {
      __m256i nibbles = nibble_pairs(scales, pair, half);
      if constexpr (kHasShifts) nibbles = _mm256_and_si256(nibbles, _mm256_set1_epi16(7));
      return _mm256_add_epi16(_mm256_add_epi16(nibbles, nibbles), _mm256_set1_epi16(1));
    } else {
      const __m128i bytes = load_pairs(scales.group_scales[pair], half);
      if constexpr (kHasMins) return _mm256_cvtepu8_epi16(bytes);
      if constexpr (kHasMin) return _mm256_cvtepu8_epi16(_mm_and_si128(bytes, _mm_set1_epi8(0xF)));
      return _mm256_cvtepi8_epi16(bytes);
    }
  }
  // What goes with the sums of the inputs: the mins, or the scales for what is taken off the codes.
  static __m256i min_pairs(const PackedScales& scales, int64_t pair, int64_t half) {
    if constexpr (kHasShifts) {  // 7 or 9 times the scale
      const __m256i bit = _mm256_and_si256(_mm256_srli_epi16(nibble_pairs(scales, pair, half), 2),
                                           _mm256_set1_epi16(2));
      return _mm256_mullo_epi16(scale_pairs(scales, pair, half),
                                _mm256_add_epi16(bit, _mm256_set1_epi16(7)));
    } else if constexpr (kHasMins) {
      return _mm256_cvtepu8_epi16(load_pairs(scales.group_mins[pair], half));
    } else if constexpr (kHasMin) {
      const __m128i bytes = load_pairs(scales.group_scales[pair], half);
      return _mm256_cvtepu8_epi16(_mm_and_si128(_mm_srli_epi16(bytes, 4), _mm_set1_epi8(0xF)));
    } else {
      return scale_pairs(scales, pair, half);
    }
  }
  // One of each pair, twice.
  static __m256i first_of(__m256i pairs) {
    return _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(pairs, 0xA0), 0xA0);
  }
  static __m256i second_of(__m256i pairs) {
    return _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(pairs, 0xF5), 0xF5);
  }
  // The floats of a block.
  static __m256 scale_of(const PackedScales& scales, int64_t half) {
    const __m256 scale = widen_halves(scales.scales + half * 8);
    if constexpr (Divisor == 1) return scale;
    return _mm256_mul_ps(scale, _mm256_set1_ps(1.0F / Divisor));
  }
  static __m256 min_scale_of(const PackedScales& scales, int64_t half) {
    if constexpr (kHasShifts)
      return _mm256_mul_ps(scale_of(scales, half), _mm256_set1_ps(1.0F / PackedScales::kShiftUnit));
    else if constexpr (kHasMin)
      return widen_halves(scales.min_scales + half * 8);
    else
      return _mm256_setzero_ps();
  }
  static const void* sums_at(const Q8G256& x, int64_t pair) {
    return Group == 16 ? x.sums_of_16 + 2 * pair : x.sums_of_32 + 2 * pair;
  }

  static __m256 finish_block(__m256 sum, __m256i total, __m256i min_sum, __m256 scale,
                             __m256 min_scale, float x_scale) {
    if constexpr (Of::kOffset != 0) total = _mm256_sub_epi32(total, times_offset<Of>(min_sum));
    __m256 part = _mm256_mul_ps(scale, _mm256_cvtepi32_ps(total));
    if constexpr (kHasMin) part = _mm256_fnmadd_ps(min_scale, _mm256_cvtepi32_ps(min_sum), part);
    return _mm256_fmadd_ps(part, _mm256_set1_ps(x_scale), sum);
  }

  static constexpr int64_t kScaleBytes = (sizeof(PackedScales) + kLine - 1) / kLine * kLine;

  // One run of eight rows.
  template <int64_t Tokens>
  [[gnu::always_inline]] static void add_run(const std::byte* run, int64_t r, __m256i pairs,
                                             const int8_t* const (&in)[Tokens], int64_t at,
                                             __m256i (&totals)[Tokens]) {
    __m256i codes[Of::kPlanes][8];
    Of::read(run, codes);
    if constexpr (Group == 32) {
      const __m256i factor = r == 0 ? first_of(pairs) : second_of(pairs);
      add_products<Of, 32>(codes[0], in, at, factor, totals);
      if constexpr (Of::kPlanes == 2)
        add_products<Of, 32>(codes[1], in, at, upper_factor(factor), totals);
    } else {
      static_assert(Of::kPlanes == 1);
      add_products<Of, 16>(codes[0], in, at, first_of(pairs), totals);
      add_products<Of, 16>(codes[0] + 4, in, at + 16, second_of(pairs), totals);
    }
  }

  // One block of the halves [First, Last) of a panel's rows.
  template <int64_t First, int64_t Last, int64_t Tokens>
  [[gnu::always_inline]] static void add_halves(const PackedScales& scales, const std::byte* run,
                                                WeightsAhead weights_ahead, const Q8G256* x,
                                                int64_t stride, __m256 (&sums)[2][Tokens]) {
    const std::byte* ahead = run + kPrefetchBytes;
    const int8_t* in[Tokens];
    __m256i totals[2][Tokens];
    __m256i min_sums[2][Tokens];
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t) {
      in[t] = x[t * stride].codes;
#pragma GCC unroll 2
      for (int64_t h = First; h < Last; ++h)
        totals[h][t] = min_sums[h][t] = _mm256_setzero_si256();
    }
    for (int64_t pair = 0; pair < kPairs; ++pair) {
      __m256i pairs[2];
#pragma GCC unroll 2
      for (int64_t h = First; h < Last; ++h)
        pairs[h] = scale_pairs(scales, pair, h);
#pragma GCC unroll 2
      for (int64_t r = 0; r < kRunsOfPair; ++r, run += Of::kRunBytes) {
        const int64_t index = pair * kRunsOfPair + r;
        if constexpr (First == 0)
          prefetch_stream<kStreamBytes, Last == 2>(ahead + index * kStreamBytes, weights_ahead);
#pragma GCC unroll 2
        for (int64_t h = First; h < Last; ++h)
          add_run(run + h * kHalfLine, r, pairs[h], in, index * 32, totals[h]);
      }
      if constexpr (kHasMinSums) {
#pragma GCC unroll 2
        for (int64_t h = First; h < Last; ++h) {
          const __m256i mins = min_pairs(scales, pair, h);
#pragma GCC unroll 8
          for (int64_t t = 0; t < Tokens; ++t)
            min_sums[h][t] = _mm256_add_epi32(
                min_sums[h][t],
                _mm256_madd_epi16(mins, broadcast_4_bytes(sums_at(x[t * stride], pair))));
        }
      }
    }
#pragma GCC unroll 2
    for (int64_t h = First; h < Last; ++h) {
      const __m256 scale = scale_of(scales, h);
      const __m256 min_scale = min_scale_of(scales, h);
#pragma GCC unroll 8
      for (int64_t t = 0; t < Tokens; ++t)
        sums[h][t] = finish_block(sums[h][t], totals[h][t], min_sums[h][t], scale, min_scale,
                                  x[t * stride].scale);
    }
  }

  template <int64_t Tokens>
  [[gnu::noinline]] static void direct(const std::byte* panel, const LinearArgs& args,
                                       const Q8G256* x, int64_t stride, float* out) {
    const std::byte* run = panel;
    __m256 sums[2][Tokens];
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t)
      sums[0][t] = sums[1][t] = _mm256_setzero_ps();
    for (int64_t block = 0; block < stride; ++block, run += 8 * Of::kRunBytes) {
      const auto& scales = *reinterpret_cast<const PackedScales*>(run);
      run += kScaleBytes;
      if constexpr (Tokens <= kWideTokens) {
        begin_stream<kScaleBytes>(run - kScaleBytes);
        add_halves<0, 2>(scales, run, args.weights_ahead, x + block, stride, sums);
      } else {
        add_halves<0, 1>(scales, run, args.weights_ahead, x + block, stride, sums);
        add_halves<1, 2>(scales, run, args.weights_ahead, x + block, stride, sums);
      }
    }
    for (int64_t t = 0; t < Tokens; ++t) {
      _mm256_store_ps(out + t * 16, sums[0][t]);
      _mm256_store_ps(out + t * 16 + 8, sums[1][t]);
    }
  }

  static void fill(const std::byte* panel, const LinearArgs&, int64_t block, Tile& tile) {
    const std::byte* at = panel + block * (kScaleBytes + 8 * Of::kRunBytes);
    const auto& scales = *reinterpret_cast<const PackedScales*>(at);
    tile.codes.fill(at + kScaleBytes, 8);
    for (int64_t half = 0; half < 2; ++half) {
      for (int64_t pair = 0; pair < kPairs; ++pair) {
        const __m256i pairs = scale_pairs(scales, pair, half);
        tile.factors[2 * pair][0][half] = first_of(pairs);
        tile.factors[2 * pair + 1][0][half] = second_of(pairs);
        if constexpr (Of::kPlanes == 2) {
          tile.factors[2 * pair][1][half] = upper_factor(first_of(pairs));
          tile.factors[2 * pair + 1][1][half] = upper_factor(second_of(pairs));
        }
        if constexpr (kHasMinSums) tile.min_pairs[pair][half] = min_pairs(scales, pair, half);
      }
      tile.scale[half] = scale_of(scales, half);
      if constexpr (kHasMin) tile.min_scale[half] = min_scale_of(scales, half);
    }
  }

  // Out of line, for the registers' sake.
  template <int64_t Tokens>
  [[gnu::noinline]] static void add(const Tile& tile, const LinearArgs&, int64_t, const Q8G256* x,
                                    int64_t stride, float* sums) {
    const int8_t* in[Tokens];
    __m256i totals[2][Tokens];
#pragma GCC unroll 4
    for (int64_t t = 0; t < Tokens; ++t) {
      in[t] = x[t * stride].codes;
      totals[0][t] = totals[1][t] = _mm256_setzero_si256();
    }
    for (int64_t group = 0; group < 2 * kPairs; ++group)
      tile.codes.template add<Group>(group * Group, in, tile.factors[group], totals);
#pragma GCC unroll 4
    for (int64_t t = 0; t < Tokens; ++t) {
      const Q8G256& from = x[t * stride];
      __m256i min_sums[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
      if constexpr (kHasMinSums) {
#pragma GCC unroll 8
        for (int64_t pair = 0; pair < kPairs; ++pair) {
          const __m256i in_sums = broadcast_4_bytes(sums_at(from, pair));
#pragma GCC unroll 2
          for (int64_t h = 0; h < 2; ++h)
            min_sums[h] =
                _mm256_add_epi32(min_sums[h], _mm256_madd_epi16(in_sums, tile.min_pairs[pair][h]));
        }
      }
#pragma GCC unroll 2
      for (int64_t h = 0; h < 2; ++h) {
        float* sum = sums + t * kTokenSums + h * 8;
        const __m256 min_scale = kHasMin ? tile.min_scale[h] : tile.scale[h];
        _mm256_store_ps(sum, finish_block(_mm256_load_ps(sum), totals[h][t], min_sums[h],
                                          tile.scale[h], min_scale, from.scale));
      }
    }
  }
};

}  // namespace

void linear_blocks2min_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksCore<Codes<2, 0>, 16, BlockScales4>>(args, begin, end);
}
void linear_blocks3_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksCore<Codes<3, 4>, 16, BlockScales16>>(args, begin, end);
}
void linear_blocks4min_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksCore<Codes<4, 0>, 32, BlockScales32>>(args, begin, end);
}
void linear_blocks5min_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksCore<Codes<5, 0>, 32, BlockScales32>>(args, begin, end);
}
void linear_blocks6_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksCore<Codes<6, 32>, 16, BlockScales16>>(args, begin, end);
}
void linear_blocks_iq4_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksCore<Codes<4, 128, kIq4Codes, 241>, 32, BlockScalesIq4>>(args, begin, end);
}
void linear_blocks2_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksCore<Codes<2, 1>, 32, BlockScalesOne>>(args, begin, end);
}
void linear_blocks_iq1_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksCore<Codes<2, 0>, 32, BlockShifts32>>(args, begin, end);
}
void linear_blocks_iq1m_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksCore<Codes<3, 16, kIq1Codes, 25>, 16, BlockNibbles16, kIq1Divisor>>(
      args, begin, end);
}
void linear_blocks_iq2_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksCore<Codes<3, 64, kIq2Codes, 107>, 16, BlockNibbles16, kIq2Divisor>>(
      args, begin, end);
}
void linear_blocks_iq3xxs_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksCore<Codes<4, 32, kIq3XxsCodes, 63>, 32, BlockNibbles32, kIq3XxsDivisor>>(
      args, begin, end);
}
void linear_blocks_iq3s_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksCore<Codes<4, 16, kIq3SCodes, 31>, 32, BlockNibbles32>>(args, begin, end);
}

}  // namespace ingot::cpu

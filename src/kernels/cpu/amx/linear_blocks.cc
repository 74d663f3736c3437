// SPDX-License-Identifier: Apache-2.0
// Packings with whole scales in blocks of 256, by int8 tiles. The scales are multiplied into the
// codes when 256 columns of a panel are unpacked. Where the products fit a byte, the tiles add up a
// whole block of two panels by 32 tokens without a stop; others, up to 14 bits, are split into a
// low and a high byte, and one panel takes as many tile products as two. Minimums by the inputs'
// sums are products of whole numbers below 2^24, which tiles of bf16 add up exactly.
//
// For 32 tokens by 16 rows by 256 columns of split codes 16 tile products (256 cycles) and 32 sums
// of earlier products to scale and add, 6 vector instructions each: a quarter of these stands
// between the steps of 64 columns, so that both units have work (2,060 GOP/s of a core in L1; one
// after the other 1,460). Show it with `ingot bench kernels linear_blocks`.
#include "kernels/cpu/amx/linear.h"
#include "kernels/cpu/amx/token_blocks.h"
#include "kernels/cpu/avx512/blocks_core.h"
#include "kernels/cpu/avx512/folded_core.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kSteps = 4;  // of 64 columns in a block

// 256 columns of a panel, unpacked: with their scales in them, but for the floats.
struct alignas(64) Weights {
  __m512i low[64];   // bytes without sign, or all there is, with sign
  __m512i high[64];  // with sign
  __m512i mins[16];  // of each 16 columns, [16 rows][2] of bf16, twice the same
  __m512 scale;
  __m512 min_scale;
};

// The minimum of the first (second) of a pair of groups, words, as bf16 in both halves of a lane.
inline __m512i bf16_twice(__m512i whole) {
  const __m512i bits = _mm512_castps_si512(_mm512_cvtepi32_ps(whole));  // at most eight bits
  return _mm512_or_si512(bits, _mm512_srli_epi32(bits, 16));
}

// A line's codes times their rows' scales, which are words in both halves of a row's four bytes:
// even bytes, then odd ones.
template <int Offset>
inline void fold_line(__m512i codes, __m512i scales, __m512i& low, __m512i& high) {
  const __m512i even_bytes = _mm512_set1_epi16(0xFF);
  __m512i even = _mm512_and_si512(codes, even_bytes);
  __m512i odd = _mm512_srli_epi16(codes, 8);
  if constexpr (Offset != 0) {
    even = _mm512_sub_epi16(even, _mm512_set1_epi16(Offset));
    odd = _mm512_sub_epi16(odd, _mm512_set1_epi16(Offset));
  }
  even = _mm512_mullo_epi16(even, scales);
  odd = _mm512_mullo_epi16(odd, scales);
  constexpr int kSelect = 0xCA;  // the second where the first has ones, else the third
  low = _mm512_ternarylogic_epi32(even_bytes, even, _mm512_slli_epi16(odd, 8), kSelect);
  high = _mm512_ternarylogic_epi32(even_bytes, _mm512_srli_epi16(even, 8), odd, kSelect);
}

// Products that need two bytes.
template <class Core>
struct SplitCodes {
  static constexpr bool kIsSplit = true;
  static constexpr bool kHasMin = Core::kHasMin;
  static constexpr int64_t kBytes = Core::kScaleBytes + 8 * Core::kRunBytes;

  static void fill(const std::byte* panel, const LinearArgs& args, int64_t block, Weights& out) {
    typename Core::Tile tile;
    Core::fill(panel, args, block, tile);
    constexpr int64_t kLines = 64 / (2 * Core::kPairs);  // of a group
    for (int64_t group = 0; group < 2 * Core::kPairs; ++group) {
      const __m512i word = _mm512_and_si512(tile.scales[group], _mm512_set1_epi32(0xFFFF));
      const __m512i scales = _mm512_or_si512(word, _mm512_slli_epi32(word, 16));
#pragma GCC unroll 4
      for (int64_t i = 0; i < kLines; ++i) {
        const int64_t line = group * kLines + i;
        fold_line<Core::kTaken>(tile.codes[line], scales, out.low[line], out.high[line]);
      }
    }
    out.scale = tile.scale;
    if constexpr (!kHasMin) return;
    constexpr int64_t kTimes = 8 / Core::kPairs;  // that sums of 16 have one minimum
    for (int64_t pair = 0; pair < Core::kPairs; ++pair) {
      for (int64_t i = 0; i < kTimes; ++i) {
        out.mins[2 * pair * kTimes + i] = bf16_twice(Core::first_of(tile.min_pairs[pair]));
        out.mins[(2 * pair + 1) * kTimes + i] = bf16_twice(Core::second_of(tile.min_pairs[pair]));
      }
    }
    out.min_scale = tile.min_scale;
  }
};

// Products that fit a byte: Q2_K's, and Q3_K's with the other sign, as one of them is 128.
template <class Folded>
struct ByteCodes {
  static constexpr bool kIsSplit = false;
  static constexpr bool kHasMin = Folded::kHasMin;
  static constexpr int64_t kBytes = Folded::kScaleBytes + 8 * Folded::kRunBytes;

  static void fill(const std::byte* panel, const LinearArgs& args, int64_t block, Weights& out) {
    typename Folded::Tile tile;
    Folded::fill(panel, args, block, tile);
    if constexpr (kHasMin) {
      for (int64_t i = 0; i < 64; ++i)
        out.low[i] = tile.codes[i];
      out.scale = tile.scale;
      out.min_scale = tile.min_scale;
      for (int64_t pair = 0; pair < Folded::kPairs; ++pair) {
        out.mins[2 * pair] = bf16_twice(Folded::Plain::first_of(tile.min_pairs[pair]));
        out.mins[2 * pair + 1] = bf16_twice(Folded::Plain::second_of(tile.min_pairs[pair]));
      }
    } else {
      for (int64_t i = 0; i < 64; ++i)
        out.low[i] = _mm512_sub_epi8(every_byte(Folded::kFoldedOffset), tile.codes[i]);
      out.scale = _mm512_sub_ps(_mm512_setzero_ps(), tile.scale);
    }
  }
};

// Sums of 32 tokens by 16 rows.
struct alignas(64) Products {
  int32_t sums[2][2][16][16];  // [byte or panel][group][token][row]
};
template <class Codes>
struct alignas(64) Mins {
  static constexpr int64_t kPanels = Codes::kIsSplit ? 1 : 2;
  float sums[kPanels][2][16][16];  // [panel][group][token][row]
};

// What a unit of work reads and adds to.
struct Unit {
  const Weights* weights[2];  // of its panels; the second again the first where there is but one
  const Q8G256Tile* x[2];     // of its groups of tokens
  float (*sums[2][2])[16];    // [panel][group]
};

// Columns [64 * step, 64 * step + 64).
template <bool IsSplit>
[[gnu::always_inline]] inline void multiply(const Unit& unit, int64_t step) {
  settle_memory();
  _tile_loadd(4, unit.x[0]->codes[step], 64);
  _tile_loadd(6, unit.weights[0]->low + step * 16, 64);
  _tile_loadd(5, unit.x[1]->codes[step], 64);
  if constexpr (IsSplit) {
    _tile_loadd(7, unit.weights[0]->high + step * 16, 64);
    _tile_dpbsud(0, 4, 6);
    _tile_dpbsud(1, 5, 6);
  } else {
    _tile_loadd(7, unit.weights[1]->low + step * 16, 64);
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 5, 6);
  }
  _tile_dpbssd(2, 4, 7);
  _tile_dpbssd(3, 5, 7);
  settle_memory();
}

inline void begin_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

inline void end_sums(int32_t (&sums)[2][2][16][16]) {
  settle_memory();
  _tile_stored(0, sums[0][0], 64);
  _tile_stored(1, sums[0][1], 64);
  _tile_stored(2, sums[1][0], 64);
  _tile_stored(3, sums[1][1], 64);
  settle_memory();
}

// Minimums by sums of inputs.
template <class Codes>
[[gnu::always_inline]] inline void multiply_mins(const Unit& unit, Mins<Codes>& mins) {
  if constexpr (!Codes::kHasMin) return;
  settle_memory();
  _tile_zero(0);
  _tile_zero(1);
  _tile_loadd(4, unit.x[0]->sums, 64);
  _tile_loadd(5, unit.x[1]->sums, 64);
  _tile_loadd(6, unit.weights[0]->mins, 64);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 5, 6);
  _tile_stored(0, mins.sums[0][0], 64);
  _tile_stored(1, mins.sums[0][1], 64);
  if constexpr (!Codes::kIsSplit) {
    _tile_zero(2);
    _tile_zero(3);
    _tile_loadd(7, unit.weights[1]->mins, 64);
    _tile_dpbf16ps(2, 4, 7);
    _tile_dpbf16ps(3, 5, 7);
    _tile_stored(2, mins.sums[1][0], 64);
    _tile_stored(3, mins.sums[1][1], 64);
  }
  settle_memory();
}

// Eight tokens of a group by one panel.
template <class Codes>
[[gnu::always_inline]] inline void add_tokens(const Unit& unit, const Products& products,
                                              const Mins<Codes>& mins, int64_t panel, int64_t group,
                                              int64_t first) {
  const __m512 scale = unit.weights[panel]->scale;
  [[maybe_unused]] const __m512 min_scale = unit.weights[panel]->min_scale;
  const int64_t own = Codes::kIsSplit ? 0 : panel;
#pragma GCC unroll 8
  for (int64_t t = first; t < first + 8; ++t) {
    __m512i total = _mm512_load_si512(products.sums[own][group][t]);
    if constexpr (Codes::kIsSplit) {
      const __m512i high = _mm512_load_si512(products.sums[1][group][t]);
      total = _mm512_add_epi32(total, _mm512_slli_epi32(high, 8));
    }
    __m512 part = _mm512_mul_ps(scale, _mm512_cvtepi32_ps(total));
    if constexpr (Codes::kHasMin)
      part = _mm512_fnmadd_ps(min_scale, _mm512_load_ps(mins.sums[panel][group][t]), part);
    float* sum = unit.sums[panel][group][t];
    _mm512_store_ps(
        sum, _mm512_fmadd_ps(part, _mm512_set1_ps(unit.x[group]->scales[t]), _mm512_load_ps(sum)));
  }
}

// A quarter of a unit's sums.
template <class Codes>
[[gnu::always_inline]] inline void add(const Unit& unit, const Products& products,
                                       const Mins<Codes>& mins, int64_t quarter) {
  const int64_t group = quarter / 2;
  add_tokens<Codes>(unit, products, mins, 0, group, quarter % 2 * 8);
  if constexpr (!Codes::kIsSplit)
    add_tokens<Codes>(unit, products, mins, 1, group, quarter % 2 * 8);
}

template <class Codes>
struct BlocksWalk {
  using Input = Q8G256Tile;
  static constexpr int64_t kBytes = Codes::kBytes;
  explicit BlocksWalk(const LinearArgs& given) : args(given) {}

  const LinearArgs& args;
  Weights weights[2];
  Products products[2];
  Mins<Codes> mins[2];
  alignas(64) float unused[16][16];  // sums of tokens and rows that are not there

  void fill(const std::byte* panel, int64_t p, int64_t block) {
    Codes::fill(panel, args, block, weights[p]);
  }

  // Of split codes a unit has one panel, and the panels of 32 tokens follow each other.
  [[gnu::always_inline]] inline Unit unit_at(int64_t i, int64_t panels, const Q8G256Tile* x,
                                             int64_t stride, int64_t groups, GroupSums* sums) {
    const int64_t panel = Codes::kIsSplit ? i % panels : 0;
    const int64_t group = (Codes::kIsSplit ? i / panels : i) * 2;
    const bool is_whole = group + 1 < groups;
    const bool is_pair = !Codes::kIsSplit && panels == 2;
    const Q8G256Tile* first = x + group * stride;
    return {{&weights[panel], &weights[is_pair ? 1 : panel]},
            {first, is_whole ? first + stride : first},
            {{sums[group].values[panel], is_whole ? sums[group + 1].values[panel] : unused},
             {is_pair ? sums[group].values[1] : unused,
              is_pair && is_whole ? sums[group + 1].values[1] : unused}}};
  }

  void pass(int64_t panels, const Q8G256Tile* x, int64_t stride, int64_t groups, GroupSums* sums) {
    const int64_t units = (groups + 1) / 2 * (Codes::kIsSplit ? panels : 1);
    // A unit's sums are added up while the second next is multiplied: nothing waits for a tile.
    Unit older{};
    Unit last{};
    for (int64_t i = 0; i < units; ++i) {
      const Unit next = unit_at(i, panels, x, stride, groups, sums);
      begin_sums();
      if (i < 2) {
#pragma GCC unroll 4
        for (int64_t step = 0; step < kSteps; ++step)
          multiply<Codes::kIsSplit>(next, step);
      } else {
#pragma GCC unroll 4
        for (int64_t step = 0; step < kSteps; ++step) {
          multiply<Codes::kIsSplit>(next, step);
          add<Codes>(older, products[i % 2], mins[i % 2], step);
        }
      }
      end_sums(products[i % 2].sums);
      multiply_mins<Codes>(next, mins[i % 2]);
      older = last;
      last = next;
    }
#pragma GCC unroll 4
    for (int64_t step = 0; step < kSteps && units > 1; ++step)
      add<Codes>(older, products[units % 2], mins[units % 2], step);
#pragma GCC unroll 4
    for (int64_t step = 0; step < kSteps; ++step)
      add<Codes>(last, products[(units + 1) % 2], mins[(units + 1) % 2], step);
  }
};

template <class Codes, class DirectCore>
void linear_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  if (args.tokens < kAmxTokens)
    return linear_direct<DirectCore>(args, begin, end, args.cols / kPackedColumns);
  const TileShapes shapes(16, 64);
  BlocksWalk<Codes> walk(args);
  walk_token_blocks(args, begin, end, walk);
}

template <class Core>
void linear_split(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<SplitCodes<Core>, Core>(args, begin, end);
}
template <class Folded>
void linear_bytes(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<ByteCodes<Folded>, Folded>(args, begin, end);
}

}  // namespace

void linear_blocks2min_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_bytes<FoldedBlocks2Min>(args, begin, end);
}
void linear_blocks3_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_bytes<FoldedBlocks3>(args, begin, end);
}
void linear_blocks4min_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_split<Blocks4Min>(args, begin, end);
}
void linear_blocks5min_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_split<Blocks5Min>(args, begin, end);
}
void linear_blocks6_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_split<Blocks6>(args, begin, end);
}
void linear_blocks_iq4_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_split<BlocksIq4>(args, begin, end);
}
void linear_blocks2_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_split<Blocks2>(args, begin, end);
}
void linear_blocks_iq1_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_split<BlocksIq1>(args, begin, end);
}
void linear_blocks_iq1m_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_split<BlocksIq1M>(args, begin, end);
}
void linear_blocks_iq2_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_split<BlocksIq2>(args, begin, end);
}
void linear_blocks_iq3xxs_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_split<BlocksIq3Xxs>(args, begin, end);
}
void linear_blocks_iq3s_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_split<BlocksIq3S>(args, begin, end);
}

}  // namespace ingot::cpu

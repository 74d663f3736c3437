// SPDX-License-Identifier: Apache-2.0
// Packings with whole scales in blocks of 256, by int8 tiles. The scales are multiplied into the
// codes when 256 columns of a panel are unpacked; the products, up to 14 bits, are split into a low
// and a high byte, so that the tiles add up a whole block without a stop: 16 tile products for 16
// tokens by 32 rows by 256 columns. Show it with `ingot bench kernels linear_blocks`.
#include "kernels/cpu/amx/linear.h"
#include "kernels/cpu/amx/token_blocks.h"
#include "kernels/cpu/avx512/blocks_core.h"
#include "kernels/cpu/avx512/folded_core.h"

namespace ingot::cpu {
namespace {

struct alignas(64) Folded {
  __m512i low[64];   // without sign
  __m512i high[64];  // with sign
};

// A line's codes times their rows' scales, which are words in both halves of a row's four bytes:
// even bytes, then odd ones.
inline void fold_line(__m512i codes, __m512i scales, __m512i& low, __m512i& high) {
  const __m512i even_bytes = _mm512_set1_epi16(0xFF);
  const __m512i even = _mm512_mullo_epi16(_mm512_and_si512(codes, even_bytes), scales);
  const __m512i odd = _mm512_mullo_epi16(_mm512_srli_epi16(codes, 8), scales);
  constexpr int kSelect = 0xCA;  // the second where the first has ones, else the third
  low = _mm512_ternarylogic_epi32(even_bytes, even, _mm512_slli_epi16(odd, 8), kSelect);
  high = _mm512_ternarylogic_epi32(even_bytes, _mm512_srli_epi16(even, 8), odd, kSelect);
}

template <class Core>
void fold(const typename Core::Tile& tile, Folded& folded) {
  constexpr int64_t kLines = 64 / (2 * Core::kPairs);  // of a group
  for (int64_t group = 0; group < 2 * Core::kPairs; ++group) {
    const __m512i word = _mm512_and_si512(tile.scales[group], _mm512_set1_epi32(0xFFFF));
    const __m512i scales = _mm512_or_si512(word, _mm512_slli_epi32(word, 16));
#pragma GCC unroll 4
    for (int64_t i = 0; i < kLines; ++i) {
      const int64_t line = group * kLines + i;
      fold_line(tile.codes[line], scales, folded.low[line], folded.high[line]);
    }
  }
}

// Sums of up to 16 tokens by 16 rows: sum tiles 0 and 1 for one panel, 2 and 3 for the other.
struct alignas(64) Sums {
  int32_t tiles[4][16][16];
};

inline void multiply_tiles(const Folded* folded, int64_t panels, const Q8G256Tile& x, Sums& sums) {
  settle_memory();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
#pragma GCC unroll 4
  for (int64_t i = 0; i < 4; ++i) {  // 64 columns
    _tile_loadd(4, x.codes[i], 64);
    _tile_loadd(6, folded[0].low + i * 16, 64);
    _tile_loadd(7, folded[0].high + i * 16, 64);
    _tile_dpbsud(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    if (panels == 2) {
      _tile_loadd(6, folded[1].low + i * 16, 64);
      _tile_loadd(7, folded[1].high + i * 16, 64);
      _tile_dpbsud(2, 4, 6);
      _tile_dpbssd(3, 4, 7);
    }
  }
  _tile_stored(0, sums.tiles[0], 64);
  _tile_stored(1, sums.tiles[1], 64);
  if (panels == 2) {
    _tile_stored(2, sums.tiles[2], 64);
    _tile_stored(3, sums.tiles[3], 64);
  }
  settle_memory();
}

template <class Core>
void scale_products(const typename Core::Tile& tile, const Q8G256Tile& x, const int32_t (*low)[16],
                    const int32_t (*high)[16], float (*sums)[16]) {
  const __m512 min_scale = Core::kHasMin ? tile.min_scale : tile.scale;
#pragma GCC unroll 4
  for (int64_t t = 0; t < 16; ++t) {
    __m512i min_sum = _mm512_setzero_si512();
#pragma GCC unroll 8
    for (int64_t pair = 0; pair < Core::kPairs; ++pair) {
      const int16_t* pairs = Core::kPairs == 8 ? x.sums_of_16[t] : x.sums_of_32[t];
      min_sum =
          _mm512_dpwssd_epi32(min_sum, tile.min_pairs[pair], broadcast_4_bytes(pairs + 2 * pair));
    }
    const __m512i total = _mm512_add_epi32(_mm512_load_si512(low[t]),
                                           _mm512_slli_epi32(_mm512_load_si512(high[t]), 8));
    _mm512_store_ps(sums[t], Core::finish_block(_mm512_load_ps(sums[t]), total, min_sum, tile.scale,
                                                min_scale, x.scales[t]));
  }
}

template <class Core>
struct BlocksWalk {
  explicit BlocksWalk(const LinearArgs& given) : args(given) {}

  const LinearArgs& args;
  typename Core::Tile tiles[2];
  Folded folded[2];
  Sums products[2];

  void fill(const std::byte* panel, int64_t p, int64_t block) {
    Core::fill(panel, args, block, tiles[p]);
    fold<Core>(tiles[p], folded[p]);
  }
  void multiply(int64_t panels, int64_t, const Q8G256Tile& x, int64_t turn) {
    multiply_tiles(folded, panels, x, products[turn]);
  }
  void add(int64_t panels, int64_t, const Q8G256Tile& x, int64_t turn, GroupSums& sums) {
    for (int64_t p = 0; p < panels; ++p) {
      scale_products<Core>(tiles[p], x, products[turn].tiles[2 * p],
                           products[turn].tiles[2 * p + 1], sums.values[p]);
    }
  }
};

template <class Core, class DirectCore = Core>
void linear_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  if (args.tokens < kAmxTokens)
    return linear_direct<DirectCore>(args, begin, end, args.cols / kPackedColumns);
  BlocksWalk<Core> walk(args);
  walk_token_blocks<Q8G256Tile>(args, begin, end, 64, walk);
}

}  // namespace

void linear_blocks2min_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<Blocks2Min, FoldedBlocks2Min>(args, begin, end);
}
void linear_blocks3_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<Blocks3, FoldedBlocks3>(args, begin, end);
}
void linear_blocks4min_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<Blocks4Min>(args, begin, end);
}
void linear_blocks5min_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<Blocks5Min>(args, begin, end);
}
void linear_blocks6_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<Blocks6>(args, begin, end);
}
void linear_blocks_iq4_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<BlocksIq4>(args, begin, end);
}
void linear_blocks2_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<Blocks2>(args, begin, end);
}
void linear_blocks_iq1_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<BlocksIq1>(args, begin, end);
}
void linear_blocks_iq1m_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<BlocksIq1M>(args, begin, end);
}
void linear_blocks_iq2_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<BlocksIq2>(args, begin, end);
}
void linear_blocks_iq3xxs_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<BlocksIq3Xxs>(args, begin, end);
}
void linear_blocks_iq3s_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<BlocksIq3S>(args, begin, end);
}

}  // namespace ingot::cpu

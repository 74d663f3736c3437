// SPDX-License-Identifier: Apache-2.0
// Packings with whole scales in blocks of 256, by int8 tiles. The scales are multiplied into the
// codes when 256 columns of a panel are unpacked; the products, up to 14 bits, are split into a low
// and a high byte, so that the tiles add up a whole block without a stop: 16 tile products for 16
// tokens by 32 rows by 256 columns. Show it with `ingot bench kernels linear_blocks`.
#include "kernels/cpu/amx/linear.h"
#include "kernels/cpu/amx/token_blocks.h"
#include "kernels/cpu/avx512/blocks_core.h"

namespace ingot::cpu {
namespace {

struct alignas(64) Folded {
  __m512i low[64];   // without sign
  __m512i high[64];  // with sign
};

// Words of a line (rows [0, 8), then [8, 16)) times their rows' scales.
inline void fold_line(__m512i codes, __m512i low_scales, __m512i high_scales, __m512i& low,
                      __m512i& high) {
  const __m512i a =
      _mm512_mullo_epi16(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(codes)), low_scales);
  const __m512i b =
      _mm512_mullo_epi16(_mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(codes, 1)), high_scales);
  low = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(a)), _mm512_cvtepi16_epi8(b),
                           1);
  high = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(_mm512_srai_epi16(a, 8))),
                            _mm512_cvtepi16_epi8(_mm512_srai_epi16(b, 8)), 1);
}

// A row's 32-bit scale as four words.
inline __m512i scale_words(__m256i scales) {
  const __m512i wide = _mm512_cvtepi32_epi64(scales);  // 8 rows, 64 bits each
  const __m512i word = _mm512_and_si512(wide, _mm512_set1_epi64(0xFFFF));
  const __m512i two = _mm512_or_si512(word, _mm512_slli_epi64(word, 16));
  return _mm512_or_si512(two, _mm512_slli_epi64(two, 32));
}

template <class Core>
void fold(const typename Core::Tile& tile, Folded& folded) {
  constexpr int64_t kLines = 64 / (2 * Core::kPairs);  // of a group
  for (int64_t group = 0; group < 2 * Core::kPairs; ++group) {
    const __m512i scales = tile.scales[group];
    const __m512i low_scales = scale_words(_mm512_castsi512_si256(scales));
    const __m512i high_scales = scale_words(_mm512_extracti64x4_epi64(scales, 1));
    for (int64_t i = 0; i < kLines; ++i) {
      const int64_t line = group * kLines + i;
      fold_line(tile.codes[line], low_scales, high_scales, folded.low[line], folded.high[line]);
    }
  }
}

// Sums of up to 16 tokens by 16 rows: sum tiles 0 and 1 for one panel, 2 and 3 for the other.
struct alignas(64) Sums {
  int32_t tiles[4][16][16];
};

inline void multiply(const Folded* folded, int64_t panels, const int8_t* x, int64_t x_bytes,
                     Sums& sums) {
  settle_memory();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
#pragma GCC unroll 4
  for (int64_t i = 0; i < 4; ++i) {  // 64 columns
    _tile_loadd(4, x + i * 64, x_bytes);
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
}

template <class Core>
void linear_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  const int64_t blocks = args.cols / kPackedColumns;
  if (args.tokens <= kFewTokens) return linear_direct<Core>(args, begin, end, blocks);
  typename Core::Tile tiles[2];
  Folded folded[2];
  Sums products;
  walk_token_blocks<Q8G256>(
      args, begin, end, blocks, 64,
      [&](const std::byte* panel, int64_t p, int64_t block) {
        Core::fill(panel, args, block, tiles[p]);
        fold<Core>(tiles[p], folded[p]);
      },
      [&](int64_t panels, int64_t, const Q8G256* x, int64_t tokens, float* sums) {
        multiply(folded, panels, x->codes, blocks * static_cast<int64_t>(sizeof(Q8G256)), products);
        for (int64_t p = 0; p < panels; ++p) {
          const auto& tile = tiles[p];
          const __m512 min_scale = Core::kHasMin ? tile.min_scale : tile.scale;
          for (int64_t t = 0; t < tokens; ++t) {
            const Q8G256& from = x[t * blocks];
            __m512i min_sum = _mm512_setzero_si512();
#pragma GCC unroll 8
            for (int64_t pair = 0; pair < Core::kPairs; ++pair)
              min_sum = _mm512_dpwssd_epi32(min_sum, tile.min_pairs[pair],
                                            broadcast_4_bytes(Core::sums_at(from, pair)));
            const __m512i low = _mm512_load_si512(products.tiles[2 * p][t]);
            const __m512i high = _mm512_load_si512(products.tiles[2 * p + 1][t]);
            const __m512i total = _mm512_add_epi32(low, _mm512_slli_epi32(high, 8));
            float* sum = sums + t * kTokenSums + p * 16;
            _mm512_store_ps(sum, Core::finish_block(_mm512_load_ps(sum), total, min_sum, tile.scale,
                                                    min_scale, from.scale));
          }
        }
      });
}

}  // namespace

void linear_blocks2min_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<Blocks2Min>(args, begin, end);
}
void linear_blocks3_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<Blocks3>(args, begin, end);
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

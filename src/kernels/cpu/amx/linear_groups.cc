// SPDX-License-Identifier: Apache-2.0
// Packings with a float scale per group of 32, by int8 tiles: one tile product for 16 tokens by 16
// rows by 32 columns (16 cycles), whose sums are then scaled in vector registers (48 instructions,
// 24 cycles). Both together take 60: without the tiles' loads, their stores or the products it
// would be 46 to 49, whatever the order and the distance between a product and its use, so they
// share the ports. 780 GOP/s of a core in L1. Show it with `ingot bench kernels linear_groups`.
#include "kernels/cpu/amx/linear.h"
#include "kernels/cpu/amx/token_blocks.h"
#include "kernels/cpu/avx512/groups_core.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kRuns = 8;           // of 32 columns in a block
constexpr int64_t kProductsAhead = 3;  // products

struct alignas(64) Products {
  int32_t tiles[kRuns][16][16];
};

// Sixteen tokens by one panel. The instructions want their registers as literals.
template <int64_t Run>
inline void multiply(const __m512i* codes, const Q8G32Tile& x, Products& products) {
  settle_memory();
  if constexpr (Run % 2 == 0) {
    _tile_loadd(4, x.codes[Run], 32);
    _tile_loadd(6, codes + Run * 8, 64);
  } else {
    _tile_loadd(5, x.codes[Run], 32);
    _tile_loadd(7, codes + Run * 8, 64);
  }
  if constexpr (Run % 4 == 0) {
    _tile_zero(0);
    _tile_dpbssd(0, 4, 6);
    _tile_stored(0, products.tiles[Run], 64);
  } else if constexpr (Run % 4 == 1) {
    _tile_zero(1);
    _tile_dpbssd(1, 5, 7);
    _tile_stored(1, products.tiles[Run], 64);
  } else if constexpr (Run % 4 == 2) {
    _tile_zero(2);
    _tile_dpbssd(2, 4, 6);
    _tile_stored(2, products.tiles[Run], 64);
  } else {
    _tile_zero(3);
    _tile_dpbssd(3, 5, 7);
    _tile_stored(3, products.tiles[Run], 64);
  }
  settle_memory();
}

template <class Core>
struct GroupsWalk {
  using Input = Q8G32Tile;
  using Tile = typename Core::Tile;
  static constexpr int64_t kBytes = Core::kScaleBytes + 8 * Core::kRunBytes;
  // Codes of eight bits less a zero point need nine: 128 is taken off, the rest after the product.
  static constexpr bool kHasZero = Core::kHasZero && !Core::kFoldsZero;
  static constexpr int kOffset = kHasZero ? 128 : Core::kTileOffset;
  explicit GroupsWalk(const LinearArgs& given) : args(given) {}

  const LinearArgs& args;
  Tile tiles[2];
  Products products;

  void fill(const std::byte* panel, int64_t p, int64_t block) {
    Tile& tile = tiles[p];
    Core::fill(panel, args, block, tile);
    // With their sign: nothing is left to take off afterwards, but for zero points of eight bits.
    for (__m512i& codes : tile.codes)
      codes = _mm512_sub_epi8(codes, every_byte(kOffset));
    for (__m512& zeros : tile.mins)
      if constexpr (kHasZero) zeros = rest_of_zeros(zeros);
    for (int64_t run = Core::groups_of(args, block); run < kRuns; ++run) {
      for (int64_t i = 0; i < 8; ++i)
        tile.codes[run * 8 + i] = _mm512_setzero_si512();
      tile.scales[run][0] = tile.mins[run] = _mm512_setzero_ps();
    }
  }

  // 128 less the zero points, in the low words of their lanes; the high ones are zeros.
  static __m512 rest_of_zeros(__m512 zeros) {
    const __m512i rest = _mm512_sub_epi32(_mm512_set1_epi32(128), _mm512_castps_si512(zeros));
    return _mm512_castsi512_ps(_mm512_and_si512(rest, _mm512_set1_epi32(0xFFFF)));
  }

  struct Unit {
    const Tile* tile;
    const Q8G32Tile* x;
    float (*sums)[16];
  };
  Unit unit_at(int64_t i, int64_t panels, const Q8G32Tile* x, int64_t stride, GroupSums* sums) {
    return {&tiles[i % panels], x + i / panels * stride, sums[i / panels].values[i % panels]};
  }

  // A unit's products of run `Run + kProductsAhead`, or the next one's.
  template <int64_t Run>
  void multiply_ahead(const Unit& unit, const Unit& next) {
    if constexpr (Run + kProductsAhead < kRuns) {
      multiply<Run + kProductsAhead>(unit.tile->codes, *unit.x, products);
    } else {
      multiply<Run + kProductsAhead - kRuns>(next.tile->codes, *next.x, products);
    }
  }
  template <int64_t Run>
  void add(const Unit& unit, const Unit& next, __m512 (&sums)[16]) {
    multiply_ahead<Run>(unit, next);
    const __m512 scale = unit.tile->scales[Run][0];
    const __m512 min = unit.tile->mins[Run];
#pragma GCC unroll 16
    for (int64_t t = 0; t < 16; ++t) {
      __m512i dot = _mm512_load_si512(products.tiles[Run][t]);
      if constexpr (kHasZero)
        dot = _mm512_dpwssd_epi32(dot, _mm512_castps_si512(min),
                                  _mm512_set1_epi32(unit.x->sums[Run][t]));
      sums[t] = Core::scale_group(sums[t], dot, unit.x->scales[Run][t], unit.x->weighed[Run][t],
                                  scale, min);
    }
    if constexpr (Run + 1 < kRuns) add<Run + 1>(unit, next, sums);
  }

  void pass(int64_t panels, const Q8G32Tile* x, int64_t stride, int64_t groups, GroupSums* sums) {
    const int64_t units = groups * panels;
    Unit unit = unit_at(0, panels, x, stride, sums);
    multiply<0>(unit.tile->codes, *unit.x, products);
    multiply<1>(unit.tile->codes, *unit.x, products);
    multiply<2>(unit.tile->codes, *unit.x, products);
    for (int64_t i = 0; i < units; ++i) {
      // The last unit's next is itself: three products for nothing.
      const Unit next = unit_at(i + 1 < units ? i + 1 : i, panels, x, stride, sums);
      __m512 totals[16];
#pragma GCC unroll 16
      for (int64_t t = 0; t < 16; ++t)
        totals[t] = _mm512_load_ps(unit.sums[t]);
      add<0>(unit, next, totals);
#pragma GCC unroll 16
      for (int64_t t = 0; t < 16; ++t)
        _mm512_store_ps(unit.sums[t], totals[t]);
      unit = next;
    }
  }
};
static_assert(kProductsAhead == 3);

template <class Core>
void linear_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  static_assert(Core::kParts == 1);
  if (args.tokens < kAmxTokens)
    return linear_direct<Core>(args, begin, end, (args.cols + kPackedColumns - 1) / kPackedColumns);
  const TileShapes shapes(16, 32);
  GroupsWalk<Core> walk(args);
  walk_token_blocks(args, begin, end, walk);
}

}  // namespace

void linear_groups4_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<Groups4>(args, begin, end);
}
void linear_groups4min_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<Groups4Min>(args, begin, end);
}
void linear_groups5_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<Groups5>(args, begin, end);
}
void linear_groups5min_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<Groups5Min>(args, begin, end);
}
void linear_groups8_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<Groups8>(args, begin, end);
}
void linear_groups_iq4_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<GroupsIq4>(args, begin, end);
}
void linear_groups_nf4bytes_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<GroupsNf4Bytes>(args, begin, end);
}
void linear_groups_fp4_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<GroupsFp4>(args, begin, end);
}
void linear_groups_fp4bytes_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<GroupsFp4Bytes>(args, begin, end);
}
void linear_groups1_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<Groups1>(args, begin, end);
}
void linear_groups2_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<Groups2>(args, begin, end);
}

void linear_groups2zero_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<GroupsZero<2>>(args, begin, end);
}
void linear_groups3zero_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<GroupsZero<3>>(args, begin, end);
}
void linear_groups4zero_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<GroupsZero<4>>(args, begin, end);
}
void linear_groups8zero_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<GroupsZero<8>>(args, begin, end);
}

}  // namespace ingot::cpu

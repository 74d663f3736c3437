// SPDX-License-Identifier: Apache-2.0
// Packings with a float scale per group of 32, by int8 tiles: one tile product for 16 tokens by 16
// rows by 32 columns, whose sums are then scaled in vector registers while the next are made. Show
// it with `ingot bench kernels linear_groups`.
#include "kernels/cpu/amx/linear.h"
#include "kernels/cpu/amx/token_blocks.h"
#include "kernels/cpu/avx512/groups_core.h"

namespace ingot::cpu {
namespace {

struct alignas(64) Sums {
  int32_t tiles[2][16][16];
};

// 32 columns into a sum tile and out to memory. Two of each register, so that one group's sums are
// scaled while the next are made; the instructions want them as literals.
inline void multiply_tiles(const __m512i* codes, const Q8G32Tile& x, int64_t group, Sums& sums) {
  settle_memory();
  if (group % 2 == 0) {
    _tile_zero(0);
    _tile_loadd(4, x.codes[group], 32);
    _tile_loadd(6, codes + group * 8, 64);
    _tile_dpbssd(0, 4, 6);
    _tile_stored(0, sums.tiles[0], 64);
  } else {
    _tile_zero(1);
    _tile_loadd(5, x.codes[group], 32);
    _tile_loadd(7, codes + group * 8, 64);
    _tile_dpbssd(1, 5, 7);
    _tile_stored(1, sums.tiles[1], 64);
  }
  settle_memory();
}

// All groups of a block, the sixteen tokens' sums in registers.
template <class Core>
void add_panel(const typename Core::Tile& tile, int64_t groups, const Q8G32Tile& x, Sums& products,
               float (*out)[16]) {
  __m512 sums[16];
#pragma GCC unroll 16
  for (int64_t t = 0; t < 16; ++t)
    sums[t] = _mm512_load_ps(out[t]);
  multiply_tiles(tile.codes, x, 0, products);
  for (int64_t group = 0; group < groups; ++group) {
    if (group + 1 < groups) multiply_tiles(tile.codes, x, group + 1, products);
    const __m512 scale = tile.scales[group][0];
    const __m512 min = tile.mins[group];
    const int32_t(*dots)[16] = products.tiles[group % 2];
#pragma GCC unroll 16
    for (int64_t t = 0; t < 16; ++t)
      sums[t] = Core::scale_group(sums[t], _mm512_load_si512(dots[t]), x.scales[group][t],
                                  x.weighed[group][t], scale, min);
  }
#pragma GCC unroll 16
  for (int64_t t = 0; t < 16; ++t)
    _mm512_store_ps(out[t], sums[t]);
}

template <class Core>
struct GroupsWalk {
  explicit GroupsWalk(const LinearArgs& given) : args(given) {}

  const LinearArgs& args;
  typename Core::Tile tiles[2];
  Sums products;

  void fill(const std::byte* panel, int64_t p, int64_t block) {
    Core::fill(panel, args, block, tiles[p]);
    // With their sign: nothing is left to take off afterwards.
    for (__m512i& codes : tiles[p].codes)
      codes = _mm512_sub_epi8(codes, every_byte(Core::kTileOffset));
  }
  // Nothing ahead: products of every 32 columns are too many to keep.
  void multiply(int64_t, int64_t, const Q8G32Tile&, int64_t) {}
  void add(int64_t panels, int64_t block, const Q8G32Tile& x, int64_t, GroupSums& sums) {
    for (int64_t p = 0; p < panels; ++p)
      add_panel<Core>(tiles[p], Core::groups_of(args, block), x, products, sums.values[p]);
  }
};

template <class Core>
void linear_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  static_assert(Core::kParts == 1);
  if (args.tokens < kAmxTokens)
    return linear_direct<Core>(args, begin, end, (args.cols + kPackedColumns - 1) / kPackedColumns);
  GroupsWalk<Core> walk(args);
  walk_token_blocks<Q8G32Tile>(args, begin, end, 32, walk);
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

}  // namespace ingot::cpu

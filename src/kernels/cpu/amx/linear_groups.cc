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
inline void multiply_even(const __m512i* codes, const int8_t* x, int64_t x_bytes, Sums& sums) {
  settle_memory();
  _tile_zero(0);
  _tile_loadd(4, x, x_bytes);
  _tile_loadd(6, codes, 64);
  _tile_dpbssd(0, 4, 6);
  _tile_stored(0, sums.tiles[0], 64);
}
inline void multiply_odd(const __m512i* codes, const int8_t* x, int64_t x_bytes, Sums& sums) {
  settle_memory();
  _tile_zero(1);
  _tile_loadd(5, x, x_bytes);
  _tile_loadd(7, codes, 64);
  _tile_dpbssd(1, 5, 7);
  _tile_stored(1, sums.tiles[1], 64);
}

template <class Core>
void scale_sums(const typename Core::Tile& tile, int64_t group, const Q8G32* x, int64_t blocks,
                int64_t tokens, const int32_t (*products)[16], float* sums) {
  const __m512 scale = tile.scales[group][0];
  const __m512 min = tile.mins[group];
#pragma GCC unroll 4
  for (int64_t t = 0; t < tokens; ++t) {
    float* sum = sums + t * kTokenSums;
    _mm512_store_ps(sum, Core::finish_group(_mm512_load_ps(sum), _mm512_load_si512(products[t]),
                                            x[t * blocks], group, scale, min));
  }
}

template <class Core>
void linear_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  static_assert(Core::kParts == 1);
  const int64_t blocks = (args.cols + kPackedColumns - 1) / kPackedColumns;
  if (args.tokens <= kFewTokens) return linear_direct<Core>(args, begin, end, blocks);
  const int64_t x_bytes = blocks * static_cast<int64_t>(sizeof(Q8G32));
  typename Core::Tile tiles[2];
  Sums products;
  walk_token_blocks<Q8G32>(
      args, begin, end, blocks, 32,
      [&](const std::byte* panel, int64_t p, int64_t block) {
        Core::fill(panel, args, block, tiles[p]);
        // With their sign: nothing is left to take off afterwards.
        for (__m512i& codes : tiles[p].codes)
          codes = _mm512_sub_epi8(codes, every_byte(Core::kOffset));
      },
      [&](int64_t panels, int64_t block, const Q8G32* x, int64_t tokens, float* sums) {
        const int64_t groups = Core::groups_of(args, block);
        for (int64_t p = 0; p < panels; ++p) {
          const auto& tile = tiles[p];
          multiply_even(tile.codes, x->codes, x_bytes, products);
          for (int64_t group = 0; group < groups; group += 2) {
            if (group + 1 < groups) {
              multiply_odd(tile.codes + (group + 1) * 8, x->codes + (group + 1) * 32, x_bytes,
                           products);
            }
            scale_sums<Core>(tile, group, x, blocks, tokens, products.tiles[0], sums + p * 16);
            if (group + 1 == groups) break;
            if (group + 2 < groups) {
              multiply_even(tile.codes + (group + 2) * 8, x->codes + (group + 2) * 32, x_bytes,
                            products);
            }
            scale_sums<Core>(tile, group + 1, x, blocks, tokens, products.tiles[1], sums + p * 16);
          }
        }
      });
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
void linear_groups_fp4_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<GroupsFp4>(args, begin, end);
}
void linear_groups1_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<Groups1>(args, begin, end);
}
void linear_groups2_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_amx<Groups2>(args, begin, end);
}

}  // namespace ingot::cpu

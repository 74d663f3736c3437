// SPDX-License-Identifier: Apache-2.0
// The walk of the AMX kernels for whole numbers over many tokens. Few tokens go the AVX-512 way,
// which gives the same bits: sums of whole numbers are exact, and are rounded at the same places.
//
// Tiles eat 32 bytes a cycle, which only the second level of the cache can give: a chunk of 1024
// columns of 256 tokens stays there while 256 rows pass over it, and so do their sums.
#pragma once

#include "kernels/cpu/amx/tiles.h"
#include "kernels/cpu/avx512/panel_walk.h"

namespace ingot::cpu {
namespace {

inline constexpr int64_t kGroupsTogether = 16;  // of sixteen tokens
inline constexpr int64_t kPairsTogether = 8;    // of panels
inline constexpr int64_t kChunkBlocks = 4;      // of 256 columns

// Sums of sixteen tokens by two panels.
struct alignas(64) GroupSums {
  float values[2][16][16];  // [panel][token][row]
};

// A Core has
//   fill(panel, p, block)             unpacks 256 columns of a panel, the p-th of a pair
//   multiply(panels, block, x, turn)  starts the products of sixteen tokens, in one of two places
//   add(panels, block, x, turn, sums) scales them and adds them up
template <class Input, class Core>
void walk_token_blocks(const LinearArgs& args, int64_t begin, int64_t end, int64_t column_bytes,
                       Core&& core) {
  const auto* x = reinterpret_cast<const Input*>(args.x);
  const int64_t blocks = (args.cols + kPackedColumns - 1) / kPackedColumns;
  const int64_t all_groups = (args.tokens + 15) / 16;
  const TileShapes shapes(16, column_bytes);
  GroupSums sums[kPairsTogether][kGroupsTogether];
  for (int64_t top = begin; top < end; top += kPairsTogether * 32) {
    const int64_t pairs_left = (end - top + 31) / 32;
    const int64_t pairs = pairs_left < kPairsTogether ? pairs_left : kPairsTogether;
    for (int64_t first = 0; first < all_groups; first += kGroupsTogether) {
      const int64_t left = all_groups - first;
      const int64_t groups = left < kGroupsTogether ? left : kGroupsTogether;
      for (int64_t pair = 0; pair < pairs; ++pair)
        __builtin_memset(sums[pair], 0, static_cast<size_t>(groups) * sizeof(GroupSums));
      for (int64_t chunk = 0; chunk < blocks; chunk += kChunkBlocks) {
        const int64_t chunk_end = blocks - chunk < kChunkBlocks ? blocks : chunk + kChunkBlocks;
        for (int64_t pair = 0; pair < pairs; ++pair) {
          const int64_t row = top + pair * 32;
          const int64_t panels = end - row > 16 ? 2 : 1;
          const std::byte* panel = args.weights + row / 16 * args.weight_stride;
          for (int64_t block = chunk; block < chunk_end; ++block) {
            for (int64_t p = 0; p < panels; ++p)
              core.fill(panel + p * args.weight_stride, p, block);
            const Input* in = x + first * blocks + block;
            core.multiply(panels, block, in[0], 0);
            for (int64_t group = 0; group < groups; ++group) {
              if (group + 1 < groups)
                core.multiply(panels, block, in[(group + 1) * blocks], (group + 1) % 2);
              core.add(panels, block, in[group * blocks], group % 2, sums[pair][group]);
            }
          }
        }
      }
      for (int64_t pair = 0; pair < pairs; ++pair) {
        const int64_t row = top + pair * 32;
        for (int64_t t = 0; t < groups * 16 && first * 16 + t < args.tokens; ++t) {
          const GroupSums& group = sums[pair][t / 16];
          finish_row(args, first * 16 + t, row, end, group.values[0][t % 16]);
          if (end - row > 16)
            finish_row(args, first * 16 + t, row + 16, end, group.values[1][t % 16]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ingot::cpu

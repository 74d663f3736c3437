// SPDX-License-Identifier: Apache-2.0
// The walk of the AMX kernels for whole numbers over many tokens: blocks of tokens, pairs of
// panels, blocks of 256 columns. Few tokens go the AVX-512 way, which gives the same bits: sums of
// whole numbers are exact, and are rounded at the same places.
#pragma once

#include "kernels/cpu/amx/tiles.h"
#include "kernels/cpu/avx512/panel_walk.h"

namespace ingot::cpu {
namespace {

inline constexpr int64_t kGroupsTogether = 16;  // of sixteen tokens, that pass over one tile

// Sums of sixteen tokens by two panels.
struct alignas(64) GroupSums {
  float values[2][16][16];  // [panel][token][row]
};

// Calls add(panels, block, tile, sums) for each pair of panels, block of columns and group of
// sixteen tokens, after fill(panel, p, block) for both panels. args.x are tiles of type Input.
template <class Input, class Fill, class Add>
void walk_token_blocks(const LinearArgs& args, int64_t begin, int64_t end, int64_t column_bytes,
                       Fill&& fill, Add&& add) {
  const auto* x = reinterpret_cast<const Input*>(args.x);
  const int64_t blocks = (args.cols + kPackedColumns - 1) / kPackedColumns;
  const int64_t all_groups = (args.tokens + 15) / 16;
  const TileShapes shapes(16, column_bytes);
  GroupSums sums[kGroupsTogether];
  for (int64_t first = 0; first < all_groups; first += kGroupsTogether) {
    const int64_t left = all_groups - first;
    const int64_t groups = left < kGroupsTogether ? left : kGroupsTogether;
    for (int64_t row = begin; row < end; row += 32) {
      const int64_t panels = end - row > 16 ? 2 : 1;
      const std::byte* panel = args.weights + row / 16 * args.weight_stride;
      __builtin_memset(sums, 0, static_cast<size_t>(groups) * sizeof(GroupSums));
      for (int64_t block = 0; block < blocks; ++block) {
        for (int64_t p = 0; p < panels; ++p)
          fill(panel + p * args.weight_stride, p, block);
        for (int64_t group = 0; group < groups; ++group)
          add(panels, block, x[(first + group) * blocks + block], sums[group]);
      }
      for (int64_t t = 0; t < groups * 16 && first * 16 + t < args.tokens; ++t) {
        for (int64_t p = 0; p < panels; ++p)
          finish_row(args, first * 16 + t, row + p * 16, end, sums[t / 16].values[p][t % 16]);
      }
    }
  }
}

}  // namespace
}  // namespace ingot::cpu

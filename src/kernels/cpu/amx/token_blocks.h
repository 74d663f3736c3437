// SPDX-License-Identifier: Apache-2.0
// The walk of the AMX kernels for whole numbers over many tokens. Few tokens go the AVX-512 way,
// which gives the same bits: sums of whole numbers are exact, and are rounded at the same places.
//
// A chunk of 1024 columns of 512 tokens stays in the second level of the cache while 128 rows pass
// over it, and so do their sums; 256 columns of two panels, unpacked, stay in the first while all
// these tokens pass over them. Unpacking costs as much as 40 tokens do: hence so many.
#pragma once

#include <type_traits>

#include "kernels/cpu/amx/tiles.h"
#include "kernels/cpu/avx512/panel_walk.h"

namespace ingot::cpu {
namespace {

inline constexpr int64_t kGroupsTogether = 32;  // of sixteen tokens
inline constexpr int64_t kPairsTogether = 4;    // of panels
inline constexpr int64_t kChunkBlocks = 4;      // of 256 columns

// Sums of sixteen tokens by two panels.
struct alignas(64) GroupSums {
  float values[2][16][16];  // [panel][token][row]
};

// Always inlined: by itself it has no effect that the compiler would keep.
template <int64_t Bytes>
[[gnu::always_inline]] inline void prefetch_lines(const std::byte* from) {
  for (int64_t i = 0; i < Bytes; i += kLine)
    _mm_prefetch(reinterpret_cast<const char*>(from + i), _MM_HINT_T1);
}

// A Core has
//   Input                             sixteen tokens by 256 columns
//   kBytes                            of a packed block
//   fill(panel, p, block)             unpacks a block of a panel, the p-th of a pair
//   pass(panels, x, stride, groups, sums)  adds the products of that block and `groups` times
//                                     sixteen tokens, whose inputs are `stride` apart
template <class Core>
void walk_token_blocks(const LinearArgs& args, int64_t begin, int64_t end, Core&& core) {
  using Walk = std::remove_reference_t<Core>;
  using Input = typename Walk::Input;
  const auto* x = reinterpret_cast<const Input*>(args.x);
  const int64_t blocks = (args.cols + kPackedColumns - 1) / kPackedColumns;
  const int64_t all_groups = (args.tokens + 15) / 16;
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
            const bool is_last = block + 1 == chunk_end;
            for (int64_t p = 0; p < panels; ++p)  // of the next rows, past the end too
              prefetch_lines<Walk::kBytes>(panel + (is_last ? p + 2 : p) * args.weight_stride +
                                           (is_last ? chunk : block + 1) * Walk::kBytes);
            core.pass(panels, x + first * blocks + block, blocks, groups, sums[pair]);
          }
        }
      }
      // Token by token: the rows of a token lie side by side in y, the tokens far apart.
      for (int64_t t = 0; t < groups * 16 && first * 16 + t < args.tokens; ++t) {
        for (int64_t row = top; row < end && row < top + pairs * 32; row += 16)
          finish_row(args, first * 16 + t, row, end,
                     sums[(row - top) / 32][t / 16].values[(row - top) / 16 % 2][t % 16]);
      }
    }
  }
}

}  // namespace
}  // namespace ingot::cpu

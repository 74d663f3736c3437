// SPDX-License-Identifier: Apache-2.0
// Packed inputs, token by token, arranged as tiles of sixteen tokens for matrix instructions, which
// want them side by side: read from rows that lie kilobytes apart, a tile's lines would meet in a
// few sets of the cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/activation_layout.h"

namespace ingot {

constexpr bool is_tiles(ActivationLayout layout) {
  return layout == ActivationLayout::kQ8G32Tiles || layout == ActivationLayout::kQ8G256Tiles ||
         layout == ActivationLayout::kBF16Tiles || layout == ActivationLayout::kI16G64Tiles;
}
// The rows that tiles are made of; any other layout is its own.
ActivationLayout rows_of(ActivationLayout layout);

struct TileArgs {
  const std::byte* rows;  // [tokens] in rows_of(layout)
  int64_t cols;
  int64_t tokens;
  std::byte* out;  // aligned to a cache line
};
// Arranges groups of sixteen tokens [begin, end).
void arrange_tiles(ActivationLayout layout, const TileArgs& args, int64_t begin, int64_t end);
// Bytes of sixteen tokens.
size_t tile_row_bytes(ActivationLayout layout, int64_t cols);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/linear_panels_launch.h"
#include "kernels/cuda/linear_tiles.cuh"

namespace ingot::cuda {
namespace {

constexpr unsigned kClasses = 8;
constexpr unsigned kBusyBlocks = 160;  // below that, classes are shared

unsigned parts_of(unsigned count, unsigned each) {
  return (count + each - 1) / each;
}

}  // namespace

ManyGrid many_grid(const LinearParts& parts, int32_t tokens) {
  const auto panels = static_cast<unsigned>(tiles_of(parts, kRowsOfTile));
  ManyGrid grid{parts_of(static_cast<unsigned>(tokens), kTileTokens * kManyTiles), 1,
                parts_of(panels, kManyPanels)};
  if (grid.tiles * grid.groups < kBusyBlocks) grid.shares = kClasses;
  return grid;
}

LinearScratch linear_scratch(const LinearParts& parts, int32_t tokens) {
  if (tokens <= kTileTokens) return {};
  const ManyGrid grid = many_grid(parts, tokens);
  if (grid.shares == 1) return {};
  const auto panels = static_cast<size_t>(tiles_of(parts, kRowsOfTile));
  return {panels * kRowsOfTile * static_cast<size_t>(tokens) * kClasses * sizeof(float),
          size_t{grid.tiles} * grid.groups * sizeof(uint32_t)};
}

void linear_panels(Packing packing, const LinearParts& parts, const ByteInput& x, Stream stream) {
  const bool in_blocks = packing_info(packing).activation == ActivationLayout::kQ8G256;
  if (x.tokens == 1) {
    (in_blocks ? linear_blocks_one : linear_groups_one)(packing, parts, x, stream);
  } else if (x.tokens <= kTileTokens) {
    (in_blocks ? linear_blocks : linear_groups)(packing, parts, x, stream);
  } else {
    (in_blocks ? linear_blocks_many : linear_groups_many)(packing, parts, x, stream);
  }
}

}  // namespace ingot::cuda

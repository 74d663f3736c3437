// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/cuda/linear_panels_launch.h"
#include "kernels/cuda/linear_tiles.cuh"

namespace ingot::cuda {
namespace {

constexpr unsigned kBusyBlocks = 240;  // below that, columns are shared
constexpr unsigned kMostShares = 8;

bool in_blocks(Packing packing) {
  return packing_info(packing).activation == ActivationLayout::kQ8G256;
}
unsigned parts_of(unsigned count, unsigned each) {
  return (count + each - 1) / each;
}

}  // namespace

DecodedGrid decoded_grid(const LinearParts& parts, int32_t tokens) {
  const auto panels = static_cast<unsigned>(tiles_of(parts, kRowsOfTile));
  DecodedGrid grid{parts_of(static_cast<unsigned>(tokens), kDecodedTokens), 1,
                   parts_of(panels, kDecodedPanels)};
  const auto blocks = parts_of(static_cast<unsigned>(parts.cols), kBlockColumns);
  while (grid.tiles * grid.groups * grid.shares < kBusyBlocks && grid.shares < kMostShares &&
         grid.shares * 2 <= blocks) {
    grid.shares *= 2;
  }
  return grid;
}

LinearScratch linear_scratch(const LinearParts& parts, int32_t tokens) {
  const DecodedGrid grid = decoded_grid(parts, tokens);
  if (grid.shares == 1) return {};
  const auto panels = static_cast<size_t>(tiles_of(parts, kRowsOfTile));
  return {panels * kRowsOfTile * static_cast<size_t>(tokens) * grid.shares * sizeof(float),
          size_t{grid.tiles} * grid.groups * sizeof(uint32_t)};
}

void linear_panels(Packing packing, const LinearParts& parts, const ByteInput& x, Stream stream) {
  if (x.tokens == 1) {
    (in_blocks(packing) ? linear_blocks_one : linear_groups_one)(packing, parts, x, stream);
  } else {
    (in_blocks(packing) ? linear_blocks : linear_groups)(packing, parts, x, stream);
  }
}

void linear_decoded(Packing packing, const LinearParts& parts, const FloatInput& x, Stream stream) {
  (in_blocks(packing) ? linear_blocks_decoded : linear_groups_decoded)(packing, parts, x, stream);
}

}  // namespace ingot::cuda

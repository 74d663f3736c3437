// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/cuda/linear_panels_launch.h"
#include "kernels/cuda/linear_tiles.cuh"

namespace ingot::cuda {
namespace {

// Blocks of threads that large devices have room for at once: columns are shared among as many.
constexpr unsigned kRoom = 264;
constexpr unsigned kMostShares = 16;

bool in_blocks(Packing packing) {
  return packing_info(packing).activation == ActivationLayout::kQ8G256;
}
unsigned parts_of(unsigned count, unsigned each) {
  return (count + each - 1) / each;
}

}  // namespace

DecodedGrid decoded_grid(const LinearParts& parts, int32_t tokens) {
  const auto panels = static_cast<unsigned>(panels_of(parts));
  DecodedGrid grid{
      parts_of(static_cast<unsigned>(tokens), static_cast<unsigned>(decoded_tokens(tokens))), 1,
      parts_of(panels, kDecodedPanels)};
  const auto blocks = parts_of(static_cast<unsigned>(parts.cols), kBlockColumns);
  grid.shares = std::clamp(kRoom / (grid.tiles * grid.groups), 1u, std::min(blocks, kMostShares));
  return grid;
}

WarpgroupsGrid warpgroups_grid(const LinearParts& parts, int32_t tokens) {
  constexpr unsigned kProcessors = 132;  // each has room for one block of threads
  const int each = tokens <= 32 ? 32 : (tokens <= 64 ? 64 : 128);
  const auto panels = static_cast<unsigned>(panels_of(parts));
  WarpgroupsGrid grid{each, 1, parts_of(static_cast<unsigned>(tokens), static_cast<unsigned>(each)),
                      parts_of(panels, static_cast<unsigned>(warpgroup_panels(each)))};
  // Processors come in groups of sixteen or eighteen, so that larger clusters would leave some of
  // them idle, and joining takes longer.
  const unsigned most = each <= 64 ? 4 : 2;
  const auto blocks = parts_of(static_cast<unsigned>(parts.cols), kBlockColumns);
  grid.shares = std::clamp(kProcessors / (grid.tiles * grid.groups), 1u, std::min(blocks, most));
  grid.shares = parts_of(blocks, parts_of(blocks, grid.shares));  // none is left without columns
  return grid;
}

LinearScratch linear_scratch(const LinearParts& parts, int32_t tokens) {
  const DecodedGrid grid = decoded_grid(parts, tokens);
  if (grid.shares == 1) return {};
  const size_t groups = size_t{grid.tiles} * grid.groups;
  const auto each = static_cast<size_t>(decoded_tokens(tokens)) * kDecodedPanels * kRowsOfTile;
  return {groups * grid.shares * each * sizeof(float), groups * sizeof(uint32_t)};
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

bool linear_warpgroups(Packing packing, const LinearParts& parts, const FloatInput& x,
                       Stream stream) {
  return in_blocks(packing) ? linear_blocks_warpgroups(packing, parts, x, stream)
                            : linear_groups_warpgroups(packing, parts, x, stream);
}

}  // namespace ingot::cuda

// SPDX-License-Identifier: Apache-2.0
// The parts of linear_panels(), which are built apart because together they take long: packings in
// groups and in blocks; one token, few, and many.
#pragma once

#include "kernels/cuda/linear.h"

namespace ingot::cuda {

void linear_groups(Packing packing, const LinearParts& parts, const ByteInput& x, Stream stream);
void linear_blocks(Packing packing, const LinearParts& parts, const ByteInput& x, Stream stream);

void linear_groups_one(Packing packing, const LinearParts& parts, const ByteInput& x,
                       Stream stream);
void linear_blocks_one(Packing packing, const LinearParts& parts, const ByteInput& x,
                       Stream stream);

void linear_groups_many(Packing packing, const LinearParts& parts, const ByteInput& x,
                        Stream stream);
void linear_blocks_many(Packing packing, const LinearParts& parts, const ByteInput& x,
                        Stream stream);

inline constexpr int kManyTiles = 4;   // of eight tokens, that a block of threads has
inline constexpr int kManyPanels = 8;  // a warp each
struct ManyGrid {
  unsigned tiles;   // of kManyTiles
  unsigned shares;  // of the classes of a panel
  unsigned groups;  // of kManyPanels
};
ManyGrid many_grid(const LinearParts& parts, int32_t tokens);

}  // namespace ingot::cuda

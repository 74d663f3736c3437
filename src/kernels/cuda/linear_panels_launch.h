// SPDX-License-Identifier: Apache-2.0
// The parts of linear_panels() and linear_decoded(), which are built apart because together they
// take long: packings in groups and in blocks; one token, few, and many.
#pragma once

#include "kernels/cuda/linear.h"

namespace ingot::cuda {

void linear_groups(Packing packing, const LinearParts& parts, const ByteInput& x, Stream stream);
void linear_blocks(Packing packing, const LinearParts& parts, const ByteInput& x, Stream stream);

void linear_groups_one(Packing packing, const LinearParts& parts, const ByteInput& x,
                       Stream stream);
void linear_blocks_one(Packing packing, const LinearParts& parts, const ByteInput& x,
                       Stream stream);

void linear_groups_decoded(Packing packing, const LinearParts& parts, const FloatInput& x,
                           Stream stream);
void linear_blocks_decoded(Packing packing, const LinearParts& parts, const FloatInput& x,
                           Stream stream);

inline constexpr int kDecodedTokens = 32;  // of a block of threads
inline constexpr int kDecodedPanels = 8;   // a warp each
struct DecodedGrid {
  unsigned tiles;   // of kDecodedTokens
  unsigned shares;  // of the columns
  unsigned groups;  // of kDecodedPanels
};
DecodedGrid decoded_grid(const LinearParts& parts, int32_t tokens);

}  // namespace ingot::cuda

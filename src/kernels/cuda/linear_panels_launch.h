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

inline constexpr int kDecodedPanels = 8;  // of a block of threads, a warp each
// And its tokens: 32, or 64 where there are more.
constexpr int decoded_tokens(int32_t tokens) {
  return tokens <= 32 ? 32 : 64;
}
struct DecodedGrid {
  unsigned tiles;   // of decoded_tokens()
  unsigned shares;  // of the columns
  unsigned groups;  // of kDecodedPanels
};
DecodedGrid decoded_grid(const LinearParts& parts, int32_t tokens);

bool linear_groups_warpgroups(Packing packing, const LinearParts& parts, const FloatInput& x,
                              Stream stream);
bool linear_blocks_warpgroups(Packing packing, const LinearParts& parts, const FloatInput& x,
                              Stream stream);

// Of a block of threads for so many tokens: the sums of more tokens take more registers.
constexpr int warpgroup_panels(int tokens) {
  return tokens <= 64 ? 16 : 8;
}
struct WarpgroupsGrid {
  int tokens;       // of a block of threads: 32, 64 or 128
  unsigned shares;  // of the columns
  unsigned tiles;   // of tokens
  unsigned groups;  // of warpgroup_panels()
};
WarpgroupsGrid warpgroups_grid(const LinearParts& parts, int32_t tokens);

}  // namespace ingot::cuda

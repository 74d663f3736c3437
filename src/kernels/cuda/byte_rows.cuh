// SPDX-License-Identifier: Apache-2.0
// Where a token's bytes, scales and sums lie in the tiles of ByteInput.
#pragma once

#include <cstdint>

#include "kernels/cuda/inputs.h"

namespace ingot::cuda {

// Of the index-th piece of a token, of `pieces`.
__device__ inline int64_t place_of(const ByteRows& rows, int64_t token, int64_t pieces,
                                   int64_t index) {
  if (rows.is_alone) return index;
  return (token / kTileTokens * pieces + index) * kTileTokens + token % kTileTokens;
}
__device__ inline int8_t* codes_at(const ByteRows& rows, int64_t token, int run) {
  return rows.codes + place_of(rows, token, rows.runs, run) * 32;
}
__device__ inline float& scale_at(const ByteRows& rows, int64_t token, int group) {
  return rows.scales[place_of(rows, token, rows.groups, group)];
}
__device__ inline int16_t& sum16_at(const ByteRows& rows, int64_t token, int index) {
  return rows.sums16[place_of(rows, token, rows.runs * 2, index)];
}
__device__ inline int16_t& sum32_at(const ByteRows& rows, int64_t token, int run) {
  return rows.sums32[place_of(rows, token, rows.runs, run)];
}

}  // namespace ingot::cuda

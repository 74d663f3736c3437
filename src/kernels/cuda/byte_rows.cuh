// SPDX-License-Identifier: Apache-2.0
// Where a token's bytes, scales and sums lie in the tiles of ByteInput.
#pragma once

#include <cstdint>

#include "kernels/cuda/inputs.h"

namespace ingot::cuda {

__device__ inline int8_t* codes_at(const ByteRows& rows, int64_t token, int run) {
  return rows.codes +
         ((token / kTileTokens * rows.runs + run) * kTileTokens + token % kTileTokens) * 32;
}
__device__ inline float& scale_at(const ByteRows& rows, int64_t token, int group) {
  return rows
      .scales[(token / kTileTokens * rows.groups + group) * kTileTokens + token % kTileTokens];
}
__device__ inline int16_t& sum16_at(const ByteRows& rows, int64_t token, int index) {
  return rows
      .sums16[(token / kTileTokens * rows.runs * 2 + index) * kTileTokens + token % kTileTokens];
}
__device__ inline int16_t& sum32_at(const ByteRows& rows, int64_t token, int run) {
  return rows.sums32[(token / kTileTokens * rows.runs + run) * kTileTokens + token % kTileTokens];
}

}  // namespace ingot::cuda

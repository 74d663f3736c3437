// SPDX-License-Identifier: Apache-2.0
// Passes over one row of logits that sampling is made of. Rows are cut into blocks of 64; a block's
// sum is taken in 8 lanes (lane j: elements j, j + 8, ...), the lanes then as (0+4 + 2+6) + (1+5 +
// 3+7), and blocks are summed in order in double. Every target gives the same bits, so that a seed
// draws the same tokens whichever kernels run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/target.h"

namespace ingot {

constexpr size_t kLogitBlock = 64;
constexpr size_t logit_blocks(size_t count) {
  return (count + kLogitBlock - 1) / kLogitBlock;
}
// exp() below this is taken as 0: it is where floats become subnormal.
constexpr float kLowestExponent = -87.0F;

// With a = max((x - top) * scale, kLowestExponent) and w = e^a, or 0 at or below the lowest:
struct WeightSums {
  double weight = 0;    // sum of w
  double exponent = 0;  // sum of w * a
};

// Of the elements above minus infinity, with d = x - center.
struct LogitMoments {
  double sum = 0;      // of d
  double squares = 0;  // of d * d
  int64_t count = 0;
};

struct SamplingKernels {
  const char* name;
  Target target;
  // The largest of each block into block_max [logit_blocks(count)]. False when there is a NaN; the
  // maxima then mean nothing.
  bool (*scan)(const float* x, size_t count, float* block_max);
  // Weights of all (top is the largest x, scale is positive and finite). `weights` [count] may be
  // null; block_sums [logit_blocks(count)] takes each block's sum of weights.
  WeightSums (*weigh)(const float* x, size_t count, float top, float scale, float* weights,
                      float* block_sums);
  // Positions of the elements >= floor, in order, into positions [count + 8]; how many there are.
  // Blocks whose block_max is below are not looked at.
  size_t (*collect)(const float* x, size_t count, const float* block_max, float floor,
                    uint32_t* positions);
  // out[i] = bit i of mask (bit i % 32 of word i / 32) ? x[i] : minus infinity
  void (*mask)(const float* x, size_t count, const uint32_t* mask, float* out);
  LogitMoments (*moments)(const float* x, size_t count, float center);
};
std::span<const SamplingKernels> sampling_kernels();
const SamplingKernels& choose_sampling(TargetSet targets);

}  // namespace ingot

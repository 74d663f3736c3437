// SPDX-License-Identifier: Apache-2.0
// Attention in two halves: the walk over sequences, pages and threads (attention.cc, shared by
// all), and the arithmetic on runs of positions that lie in one page (here, per cache layout and
// target). No part may let a head or a position see how the walk was cut.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention.h"

namespace ingot {

// A run of `count` positions' keys or values of one kv head: [count, dim] cache elements.
struct CacheRun {
  const std::byte* data;
  int64_t count;
  int64_t dim;
};

struct SoftenArgs {
  float scale;
  float softcap;      // 0: none
  float slope;        // 0: none; adds slope * (position - last)
  const float* sink;  // one extra logit in the denominator, or null
};

struct AttentionParts {
  int64_t element_bytes;
  // Writes `count` floats as cache elements.
  void (*store)(const float* from, int64_t count, std::byte* to);
  // scores[h * stride + i] = q[h] . key[i]; q is [heads, dim].
  void (*score)(const float* q, int64_t heads, const CacheRun& keys, float* scores, int64_t stride);
  // Turns one head's scores of ascending positions into exp(logit - largest), in place; returns
  // their sum in that order, the sink's share included.
  float (*soften)(const SoftenArgs& args, float* scores, int64_t count);
  // out[h] += weights[h * stride + i] * value[i], i ascending; out is [heads, dim].
  void (*mix)(const float* weights, int64_t stride, int64_t heads, const CacheRun& values,
              float* out);
};

void store_kv(const AttentionParts& parts, const StoreKvArgs& args, const Exec& exec);
void attend(const AttentionParts& parts, const AttentionArgs& args, const Exec& exec);

}  // namespace ingot

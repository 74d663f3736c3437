// SPDX-License-Identifier: Apache-2.0
// How the memory for the KV cache becomes pages: so many for layers that see everything, and for
// sliding-window layers only what running sequences can hold and some for the prefix tree.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "model/kv_cache.h"
#include "model/spec.h"

namespace ingot {

struct CachePlanOptions {
  KvCacheType type = KvCacheType::kF16;
  int64_t page_tokens = kDefaultPageTokens;
  uint64_t memory_bytes = 0;     // 0: a fraction of what is free
  double memory_fraction = 0.5;  // of free memory, where memory_bytes is 0
  int64_t context = 0;           // tokens of one sequence, at most
  int64_t max_num_seqs = 1;
  int64_t max_num_batched_tokens = 512;
  const Device* device = nullptr;  // of the layers that lie on one
};

struct CachePlan {
  std::vector<CacheGroup> groups;
  std::vector<int64_t> pages;  // [group]
  uint64_t size_bytes = 0;     // in all
  uint64_t device_bytes = 0;   // of these on the device
};

// Never more than max_num_seqs whole contexts and a copy of each for the prefix tree need.
// kResourceExhausted, with the numbers, when not even one sequence of the whole context fits.
Result<CachePlan> plan_cache(const ModelSpec& spec, const CachePlanOptions& options);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "engine/cache_plan.h"

#include <algorithm>

#include "base/free_memory.h"

namespace ingot {
namespace {

// Pages of a group when the full-attention ones have `pages`.
int64_t pages_of(const CacheGroup& group, int64_t pages, const CachePlanOptions& options) {
  if (group.window == 0) return pages;
  const auto pages_for = [&](int64_t tokens) {
    return (tokens + options.page_tokens - 1) / options.page_tokens;
  };
  // Every running sequence can hold a window and a page it has just begun; one step's chunk comes
  // on top. The rest lets cached prefixes keep the windows at their ends.
  const int64_t running = options.max_num_seqs * (pages_for(group.window) + 2) +
                          pages_for(options.max_num_batched_tokens);
  return std::min(pages, running + pages / 4);
}

CachePlan plan_for(std::vector<CacheGroup> groups, int64_t pages, const CachePlanOptions& options) {
  CachePlan plan;
  for (const CacheGroup& group : groups) {
    plan.pages.push_back(pages_of(group, pages, options));
    const uint64_t bytes =
        static_cast<uint64_t>(plan.pages.back()) * static_cast<uint64_t>(group.page_bytes);
    plan.size_bytes += bytes;
    if (group.is_on_device) plan.device_bytes += bytes;
  }
  plan.groups = std::move(groups);
  return plan;
}

}  // namespace

Result<CachePlan> plan_cache(const ModelSpec& spec, const CachePlanOptions& options) {
  const std::vector<CacheGroup> groups = cache_groups(spec, options.type, options.page_tokens);
  // What is given is for the device where there is one; the host's part is as large as it must be.
  const bool has_device = options.device != nullptr;
  const uint64_t free = has_device ? options.device->free_bytes() : free_memory_bytes();
  uint64_t budget = options.memory_bytes;
  if (budget == 0)
    budget = static_cast<uint64_t>(static_cast<double>(free) * options.memory_fraction);
  const auto counted = [&](const CachePlan& plan) {
    return has_device ? plan.device_bytes : plan.size_bytes;
  };
  // One page more than the context has: for the copy of a shared page before it is written.
  const int64_t least = (options.context + options.page_tokens - 1) / options.page_tokens + 1;
  const CachePlan smallest = plan_for(groups, least, options);
  if (counted(smallest) > budget) {
    return Status::resource_exhausted(
        "a context of {} tokens needs {} KiB of KV cache but only {} KiB are {} ({} MiB free in "
        "all); use a smaller --ctx-size, a --kv-cache-dtype such as int8, or a larger "
        "--kv-cache-memory",
        options.context, counted(smallest) >> 10, budget >> 10,
        options.memory_bytes > 0 ? "given" : "taken by default", free >> 20);
  }
  int64_t low = least;
  int64_t high = std::max(least, 2 * options.max_num_seqs * least);
  while (low < high) {  // the most pages that fit
    const int64_t middle = low + (high - low + 1) / 2;
    if (counted(plan_for(groups, middle, options)) <= budget) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return plan_for(groups, low, options);
}

}  // namespace ingot

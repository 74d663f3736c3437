// SPDX-License-Identifier: Apache-2.0
// The memory of the paged KV cache. Layers that look equally far back form a group, with a pool of
// pages and a page table per sequence of its own: so those with a sliding window can give back what
// has left the window. Who owns which page is decided elsewhere (engine/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/wide_memory.h"
#include "kernels/device.h"
#include "kernels/paged_kv.h"
#include "model/spec.h"

namespace ingot {

struct CacheGroup {
  int64_t window = 0;           // 0: full attention
  std::vector<int32_t> layers;  // ascending
  bool is_on_device = false;    // as its layers are
  int64_t page_bytes = 0;       // of all its layers; each begins on a cache line
};
// In order of their first layers. Allocates nothing.
std::vector<CacheGroup> cache_groups(const ModelSpec& spec, KvCacheType type, int64_t page_tokens);

// Bytes one token's keys and values take in all layers together, alignment aside.
int64_t kv_bytes_per_token(const ModelSpec& spec, KvCacheType type);

// What "auto" means: f32 where a token's keys and values take at most 32 KiB that way (small
// models: exact costs little), else f16.
KvCacheType default_cache_type(const ModelSpec& spec);

struct KvCacheOptions {
  KvCacheType type = KvCacheType::kF16;
  int64_t page_tokens = kDefaultPageTokens;
  std::vector<int64_t> pages_per_group;      // one for each of cache_groups()
  std::shared_ptr<Device> device = nullptr;  // where the groups on a device are
};

// Engine thread only.
class KvCache {
 public:
  // kInvalidArgument for a bad page size; kResourceExhausted, with the numbers, when the memory
  // cannot be had.
  static Result<KvCache> create(const ModelSpec& spec, const KvCacheOptions& options);

  KvCacheType type() const { return type_; }
  int64_t page_tokens() const { return page_tokens_; }
  std::span<const CacheGroup> groups() const { return groups_; }
  size_t group_of(size_t layer) const { return layers_[layer].group; }
  int64_t pages(size_t group) const { return pools_[group].pages; }
  int64_t size_bytes() const;
  const PagedKv& layer(size_t index) const { return layers_[index].kv; }

  // A page of all the group's layers, one run of groups()[group].page_bytes, where it lies; for
  // groups of the host.
  std::span<std::byte> page(size_t group, PageId page);
  // The same of any group, out of and into the cache; a device may fail.
  Status read_page(size_t group, PageId page, std::span<std::byte> to) const;
  Status write_page(size_t group, PageId page, std::span<const std::byte> from);
  Status copy_page(size_t group, PageId from, PageId to);

 private:
  KvCache() = default;
  struct Pool {
    WideMemory memory;                            // the host's, or
    std::unique_ptr<DeviceBuffer> device_memory;  // the device's
    int64_t pages = 0;
    std::byte* data() const { return device_memory ? device_memory->data() : memory.get(); }
  };
  std::byte* page_at(size_t group, PageId page) const;
  struct Layer {
    size_t group = 0;
    PagedKv kv;
  };
  std::shared_ptr<Device> device_;
  KvCacheType type_ = KvCacheType::kF16;
  int64_t page_tokens_ = kDefaultPageTokens;
  std::vector<CacheGroup> groups_;
  std::vector<Pool> pools_;  // one per group
  std::vector<Layer> layers_;
};

}  // namespace ingot

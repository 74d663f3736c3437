// SPDX-License-Identifier: Apache-2.0
// The second tier: evicted pages in ordinary memory, bounded in bytes, least recently used first
// out, into the next tier where there is one. Memory is allocated page by page as they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "engine/page_store.h"

namespace ingot {

// Engine thread only.
class HostTier final : public PageStore {
 public:
  // `next` may be null; otherwise it outlives this tier.
  HostTier(uint64_t limit_bytes, PageStore* next);

  bool put(const StoredPage& page, std::span<const std::byte> bytes) override;
  bool load(const StoredPage& page, std::span<std::byte> out) override;
  std::vector<StoredId> take_dropped() override;
  std::vector<StoredPage> list() const override;
  void erase(const StoredId& id) override;
  void flush() override;

  uint64_t size_bytes() const { return size_bytes_; }
  size_t pages() const { return entries_.size(); }

 private:
  struct Entry {
    StoredPage page;
    std::vector<std::byte> bytes;
  };
  using Entries = std::list<Entry>;  // least recently used first
  struct IdHash {
    size_t operator()(const StoredId& id) const { return PageKeyHash()(id.key) + id.group; }
  };
  void make_room(uint64_t bytes);
  void remove(Entries::iterator entry);

  uint64_t limit_bytes_;
  PageStore* next_;
  uint64_t size_bytes_ = 0;
  Entries entries_;
  std::unordered_map<StoredId, Entries::iterator, IdHash> by_id_;
  std::vector<StoredId> dropped_;
};

}  // namespace ingot

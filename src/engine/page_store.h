// SPDX-License-Identifier: Apache-2.0
// Tiers below the cache: where a page's bytes go when the prefix tree evicts it, and where they
// come back from. A store is a chain (host memory, then disk) behind one interface; it may forget
// anything at any time, and never returns bytes of another prefix.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/page_key.h"
#include "engine/page_pool.h"

namespace ingot {

// The bytes of the cache's pages, all layers of a group behind each other or wherever the cache
// keeps them. Every page of a group has the same size. Engine thread only.
class PageMemory {
 public:
  virtual ~PageMemory() = default;
  // A page's bytes, until the next call; empty where a device cannot give them.
  virtual std::span<const std::byte> read(size_t group, PageId id) = 0;
  // Room for a page's bytes; they are in it when close() says so.
  virtual std::span<std::byte> open(size_t group, PageId id) = 0;
  virtual bool close(size_t group, PageId id) = 0;
  virtual void copy(size_t group, PageId from, PageId to) = 0;
};

// Pages that lie in the host's memory, each where page() says.
class HostPageMemory : public PageMemory {
 public:
  virtual std::span<std::byte> page(size_t group, PageId id) = 0;
  std::span<const std::byte> read(size_t group, PageId id) override { return page(group, id); }
  std::span<std::byte> open(size_t group, PageId id) override { return page(group, id); }
  bool close(size_t /*group*/, PageId /*id*/) override { return true; }
  void copy(size_t group, PageId from, PageId to) override {
    std::ranges::copy(page(group, from), page(group, to).begin());
  }
};

// One stored thing: one group's page of one node of the tree.
struct StoredId {
  PageKey key;
  uint32_t group = 0;
  friend auto operator<=>(const StoredId&, const StoredId&) = default;
};

// What the page is of. A store compares all of it on a hit: the key only nominates.
struct StoredPage {
  StoredId id;
  PageKey space;   // namespace_key() of its root
  PageKey parent;  // the key of the page before it; equal to `space` for the first
  std::vector<TokenId> tokens;
  friend bool operator==(const StoredPage&, const StoredPage&) = default;
};

// Called by the engine thread only.
class PageStore {
 public:
  virtual ~PageStore() = default;
  // Keeps a copy of the bytes, or says no. Never waits for a disk. A page that is there already
  // counts as used just now and is kept as it is: equal keys mean equal bytes.
  virtual bool put(const StoredPage& page, std::span<const std::byte> bytes) = 0;
  // Fills `out`, or says no and has then forgotten the page (it is not reported as dropped). May
  // read a disk.
  virtual bool load(const StoredPage& page, std::span<std::byte> out) = 0;
  // What was put (or listed) once and is gone since: evicted or failed to be written. Each is
  // reported once.
  virtual std::vector<StoredId> take_dropped() = 0;
  // Everything the store holds, in no order: what a restarted process begins with.
  virtual std::vector<StoredPage> list() const = 0;
  // Forgets a page that turned out to be of no use.
  virtual void erase(const StoredId& id) = 0;
  // Moves what would not survive the process to where it does, and waits until it is written.
  virtual void flush() = 0;
};

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// Who owns a page of the KV cache: reference counts over the pages of one group of layers. The
// scheduler takes pages for sequences, the prefix tree holds on to them afterwards; a page is free
// when nobody refers to it. The counts say nothing of what is in a page (kernels/paged_kv.h does).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/paged_kv.h"

namespace ingot {

// Told when a held page (see PagePool::hold) changes between "nobody but the holder" and "in use".
class PageWatcher {
 public:
  virtual ~PageWatcher() = default;
  virtual void page_became_idle(PageId id) = 0;
  virtual void page_became_busy(PageId id) = 0;
};

// Every call is O(1) and allocates nothing. The page freed last is taken first: it is the likeliest
// to be in a CPU's cache. Misuse (an unknown id, a release too many) stops the process.
// Engine thread only.
class PagePool {
 public:
  explicit PagePool(int64_t pages);
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  // A page with one reference, the caller's; nothing when none is free.
  std::optional<PageId> take();
  void add_reference(PageId id);
  // Drops one reference; the page is free when it was the last one.
  void release(PageId id);

  int32_t references(PageId id) const;
  int64_t free_pages() const { return static_cast<int64_t>(free_.size()); }
  int64_t size() const { return static_cast<int64_t>(states_.size()); }

  // The prefix tree's reference, at most one for a page: hold adds it, unhold drops it. A held page
  // whose only reference is that one is idle; the watcher hears of every change between idle and
  // busy while it is held. (It is busy when hold() returns: somebody has it then.)
  void hold(PageId id);
  void unhold(PageId id);
  bool is_held(PageId id) const;
  bool is_idle(PageId id) const { return is_held(id) && references(id) == 1; }
  int64_t held_pages() const { return held_; }
  // The watcher must outlive its being set; null: nobody watches.
  void set_watcher(PageWatcher* watcher) { watcher_ = watcher; }

 private:
  struct State {
    int32_t references = 0;
    bool is_held = false;
  };
  State& taken(PageId id);
  const State& taken(PageId id) const;

  std::vector<State> states_;
  std::vector<PageId> free_;  // a stack
  int64_t held_ = 0;
  PageWatcher* watcher_ = nullptr;
};

}  // namespace ingot

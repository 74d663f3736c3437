// SPDX-License-Identifier: Apache-2.0
// A queue of pages from whose middle one can be taken, without allocation: the links are arrays
// indexed by page, shared by all lists of which a page is in at most one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "engine/page_pool.h"

namespace ingot {

struct PageLinks {
  explicit PageLinks(int64_t pages)
      : before(static_cast<size_t>(pages), kNoPage), after(static_cast<size_t>(pages), kNoPage) {}
  std::vector<PageId> before;
  std::vector<PageId> after;
};

// Engine thread only.
class PageList {
 public:
  PageId front() const { return front_; }  // kNoPage when empty
  void push_back(PageLinks& links, PageId id) {
    const auto i = static_cast<size_t>(id);
    links.before[i] = back_;
    links.after[i] = kNoPage;
    (back_ == kNoPage ? front_ : links.after[static_cast<size_t>(back_)]) = id;
    back_ = id;
  }
  void remove(PageLinks& links, PageId id) {
    const PageId before = links.before[static_cast<size_t>(id)];
    const PageId after = links.after[static_cast<size_t>(id)];
    (before == kNoPage ? front_ : links.after[static_cast<size_t>(before)]) = after;
    (after == kNoPage ? back_ : links.before[static_cast<size_t>(after)]) = before;
  }

 private:
  PageId front_ = kNoPage;
  PageId back_ = kNoPage;
};

}  // namespace ingot

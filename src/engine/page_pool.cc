// SPDX-License-Identifier: Apache-2.0
#include "engine/page_pool.h"

#include <limits>

#include "base/check.h"

namespace ingot {

PagePool::PagePool(int64_t pages) {
  INGOT_CHECK(pages >= 0 && pages <= std::numeric_limits<PageId>::max());
  states_.resize(static_cast<size_t>(pages));
  free_.reserve(states_.size());
  for (int64_t id = pages - 1; id >= 0; --id)
    free_.push_back(static_cast<PageId>(id));
}

const PagePool::State& PagePool::taken(PageId id) const {
  INGOT_CHECK(id >= 0 && static_cast<size_t>(id) < states_.size());
  const State& state = states_[static_cast<size_t>(id)];
  INGOT_CHECK(state.references > 0);
  return state;
}

PagePool::State& PagePool::taken(PageId id) {
  return const_cast<State&>(static_cast<const PagePool*>(this)->taken(id));
}

std::optional<PageId> PagePool::take() {
  if (free_.empty()) return std::nullopt;
  const PageId id = free_.back();
  free_.pop_back();
  states_[static_cast<size_t>(id)].references = 1;
  return id;
}

void PagePool::add_reference(PageId id) {
  State& state = taken(id);
  INGOT_CHECK(state.references < std::numeric_limits<int32_t>::max());
  ++state.references;
  if (state.is_held && state.references == 2 && watcher_ != nullptr) watcher_->page_became_busy(id);
}

void PagePool::release(PageId id) {
  State& state = taken(id);
  INGOT_CHECK(!state.is_held || state.references > 1);  // the holder's own ends by unhold()
  --state.references;
  if (state.references == 0) free_.push_back(id);  // capacity was reserved: never allocates
  if (state.is_held && state.references == 1 && watcher_ != nullptr) watcher_->page_became_idle(id);
}

int32_t PagePool::references(PageId id) const {
  INGOT_CHECK(id >= 0 && static_cast<size_t>(id) < states_.size());
  return states_[static_cast<size_t>(id)].references;
}

void PagePool::hold(PageId id) {
  State& state = taken(id);  // somebody has it: a page is never idle at once
  INGOT_CHECK(!state.is_held);
  state.is_held = true;
  ++state.references;
  ++held_;
}

void PagePool::unhold(PageId id) {
  State& state = taken(id);
  INGOT_CHECK(state.is_held);
  state.is_held = false;
  --held_;
  --state.references;
  if (state.references == 0) free_.push_back(id);
}

bool PagePool::is_held(PageId id) const {
  INGOT_CHECK(id >= 0 && static_cast<size_t>(id) < states_.size());
  return states_[static_cast<size_t>(id)].is_held;
}

}  // namespace ingot

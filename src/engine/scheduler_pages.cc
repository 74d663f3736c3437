// SPDX-License-Identifier: Apache-2.0
// The scheduler's dealings with pages: taking, copying on write, preempting, giving back.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "engine/scheduler.h"

namespace ingot {

int64_t Scheduler::available(size_t group) const {
  return pools_[group]->free_pages() + (tree_ == nullptr ? 0 : tree_->evictable(group));
}

// Everything it still has to compute, and a page for each running sequence to go on with.
bool Scheduler::has_room_for_all_of(const Sequence& sequence) const {
  for (size_t group = 0; group < pools_.size(); ++group) {
    int64_t needed = new_pages(sequence, group, sequence.pending());
    if (const int64_t window = options_.groups[group].window; window > 0) {
      needed = std::min(needed, pages_for(window + options_.max_num_batched_tokens) + 1);
    }
    if (needed + static_cast<int64_t>(running_.size()) > available(group)) return false;
  }
  return true;
}

// After a fork two sequences share their last page; whoever writes first copies it.
bool Scheduler::writes_shared_page(const Sequence& sequence, size_t group) const {
  const auto index = static_cast<size_t>(sequence.computed / options_.page_tokens);
  const PageTable& table = sequence.tables[group];
  return index < table.size() && table[index] != kNoPage &&
         pools_[group]->references(table[index]) > 1;
}

int64_t Scheduler::new_pages(const Sequence& sequence, size_t group, int64_t tokens) const {
  const auto held = static_cast<int64_t>(sequence.tables[group].size());
  return std::max<int64_t>(pages_for(sequence.computed + tokens) - held, 0) +
         (writes_shared_page(sequence, group) ? 1 : 0);
}

bool Scheduler::make_room(Sequence& sequence, int64_t tokens, StepPlan& plan, bool may_preempt) {
  for (size_t group = 0; group < pools_.size(); ++group) {
    while (true) {
      const int64_t missing = new_pages(sequence, group, tokens) - pools_[group]->free_pages();
      if (missing <= 0) break;
      if (missing <= available(group) - pools_[group]->free_pages() &&
          tree_->evict(group, missing) > 0) {
        continue;
      }
      Sequence* victim = last_paused();
      if (victim == nullptr && may_preempt) victim = victim_after(sequence);
      if (victim == nullptr) return false;
      preempt(*victim, plan);
    }
  }
  return true;
}

// The last in order gives way; the first in order never does.
Sequence* Scheduler::victim_after(const Sequence& sequence) const {
  Sequence* last = running_.empty() ? nullptr : running_.back();
  return last != nullptr && Before()(&sequence, last) ? last : nullptr;
}

void Scheduler::preempt(Sequence& victim, StepPlan& plan) {
  const auto item = std::ranges::find(plan.items, &victim, &StepPlan::Item::sequence);
  if (item != plan.items.end()) {
    plan.tokens -= item->tokens;
    plan.items.erase(item);
  }
  release_cache(victim);
  unseat(victim);
  victim.state = SequenceState::kWaiting;
  ++victim.preemptions;
  ++stats_.preemptions;
  if (victim.can_run()) waiting_.insert(&victim);
}

void Scheduler::take_pages(Sequence& sequence, int64_t tokens) {
  for (size_t group = 0; group < pools_.size(); ++group) {
    PageTable& table = sequence.tables[group];
    PagePool& pool = *pools_[group];
    if (writes_shared_page(sequence, group)) {
      PageId& shared = table[static_cast<size_t>(sequence.computed / options_.page_tokens)];
      const PageId own = *pool.take();
      memory_.copy(group, shared, own);
      pool.release(shared);
      shared = own;
    }
    while (static_cast<int64_t>(table.size()) < pages_for(sequence.computed + tokens))
      table.push_back(*pool.take());
  }
}

void Scheduler::register_pages(Sequence& sequence) {
  if (tree_ == nullptr) return;
  const int64_t page_tokens = options_.page_tokens;
  std::vector<PageId> pages(pools_.size());
  const int64_t known = std::min(sequence.computed, sequence.known());
  while (sequence.registered + page_tokens <= known) {
    const auto index = static_cast<size_t>(sequence.registered / page_tokens);
    for (size_t group = 0; group < pools_.size(); ++group)
      pages[group] = sequence.tables[group][index];
    const std::span<const TokenId> tokens(sequence.tokens);
    sequence.node = tree_->extend(
        sequence.node,
        tokens.subspan(static_cast<size_t>(sequence.registered), static_cast<size_t>(page_tokens)),
        pages);
    // Another sequence may have computed the same page before: then this one now shares it.
    for (size_t group = 0; group < pools_.size(); ++group)
      sequence.tables[group][index] = pages[group];
    sequence.registered += page_tokens;
  }
}

// The next row is at position `computed`; it sees the last `window` positions, its own included.
void Scheduler::release_window(Sequence& sequence) {
  for (size_t group = 0; group < pools_.size(); ++group) {
    const int64_t window = options_.groups[group].window;
    if (window == 0) continue;
    const int64_t first_seen = std::max<int64_t>(sequence.computed - window + 1, 0);
    const auto gone = static_cast<size_t>(first_seen / options_.page_tokens);
    PageTable& table = sequence.tables[group];
    for (size_t i = gone; i-- > 0 && table[i] != kNoPage;) {
      pools_[group]->release(table[i]);
      table[i] = kNoPage;
    }
  }
}

void Scheduler::release_cache(Sequence& sequence) {
  const int64_t tail = std::min(sequence.computed, sequence.known()) - sequence.registered;
  if (tree_ != nullptr && tail > 0) {
    const auto index = static_cast<size_t>(sequence.registered / options_.page_tokens);
    std::vector<PageId> pages(pools_.size());
    for (size_t group = 0; group < pools_.size(); ++group)
      pages[group] = sequence.tables[group][index];
    const std::span<const TokenId> tokens(sequence.tokens);
    tree_->insert_partial(
        sequence.node,
        tokens.subspan(static_cast<size_t>(sequence.registered), static_cast<size_t>(tail)), pages);
  }
  for (size_t group = 0; group < pools_.size(); ++group) {
    for (const PageId page : sequence.tables[group])
      if (page != kNoPage) pools_[group]->release(page);
  }
  if (tree_ != nullptr) tree_->unpin(sequence.node);
  sequence.tables.clear();
  sequence.node = nullptr;
  sequence.computed = sequence.registered = 0;
}

double Scheduler::waste() const {
  int64_t owned = 0;
  int64_t unused = 0;
  for (size_t group = 0; group < pools_.size(); ++group) {
    const PagePool& pool = *pools_[group];
    owned += (pool.size() - available(group)) * options_.page_tokens;
    // Only what lies behind a sequence's last computed token is unused.
    for (const Sequence* sequence : running_) {
      const auto held = static_cast<int64_t>(sequence->tables[group].size());
      unused += held * options_.page_tokens - sequence->computed;
    }
  }
  return owned == 0 ? 0 : static_cast<double>(unused) / static_cast<double>(owned);
}

}  // namespace ingot

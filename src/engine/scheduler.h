// SPDX-License-Identifier: Apache-2.0
// Decides what each step computes: admits, matches prefixes, takes and gives back pages, preempts.
// Pure logic: it runs no model and reads no clock. A step is plan_step(), a forward pass over the
// plan by the caller, commit(), then append(), fork() or finish() for the sequences that sampled.
// Invariant: every sequence it accepted fits the pools alone, and the first in order is never
// preempted, so there is always one that moves.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/page_pool.h"
#include "engine/page_store.h"
#include "engine/prefix_tree.h"
#include "engine/sequence.h"

namespace ingot {

struct SchedulerGroup {
  int64_t pages = 0;
  int64_t window = 0;  // 0: full attention
};

struct SchedulerOptions {
  int64_t max_num_seqs = 64;
  int64_t max_num_batched_tokens = 512;  // at least max_num_seqs
  int64_t page_tokens = 16;
  std::vector<SchedulerGroup> groups;
  bool has_prefix_cache = true;
  double namespace_share = 1.0;  // of the prefix tree
  PageStore* store = nullptr;    // tiers below the cache, or null; outlives the scheduler
};

struct StepPlan {
  struct Item {
    Sequence* sequence;
    int64_t tokens;  // from sequence->computed on
    bool is_last;    // reaches the end of its tokens: the last row's logits are wanted
  };
  std::vector<Item> items;
  int64_t tokens = 0;
  std::vector<SequenceId> expired;  // past their deadline; already ended, their pages given back
};

struct SchedulerStats {
  int64_t running = 0;
  int64_t waiting = 0;
  int64_t paused = 0;  // in neither of the two, whether it holds pages or not
  int64_t preemptions = 0;
  int64_t prompt_tokens = 0;  // of sequences at their first admission, forks not included
  int64_t reused_tokens = 0;  // of these
  std::vector<int64_t> pages_total, pages_free, pages_cached;  // [group]; cached: free on demand
};

// Engine thread only.
class Scheduler {
 public:
  // `memory` holds the pages' bytes (for copies and tiers) and outlives the scheduler.
  Scheduler(SchedulerOptions options, PageMemory& memory);

  // Whether a sequence of this length could ever run: kInvalidArgument with the numbers if not.
  Status check_fits(int64_t max_length) const;
  // Queues a sequence; refuses what check_fits() refuses.
  Result<SequenceId> add(SequenceRequest request);
  // Null once it has ended.
  Sequence* find(SequenceId id);

  StepPlan plan_step(Instant now);
  // The plan's tokens have been computed.
  void commit(const StepPlan& plan);
  // The next token of a sequence that has none pending.
  void append(Sequence& sequence, TokenId token);
  // The same while only a device knows the token, which it samples from output row `row` of the
  // step that runs: steps can be planned with it. resolve() says what it is.
  void guess(Sequence& sequence, int64_t row);
  void resolve(Sequence& sequence, TokenId token);
  // The last known token has to be computed once more, as if the sequence had been preempted; a
  // token that was guessed is none.
  void restart(Sequence& sequence);
  // A sequence with the same tokens; shares its pages until one of them writes. It waits when there
  // is no seat for it.
  Sequence& fork(const Sequence& parent);
  // A held sequence is not scheduled; append() ends the hold.
  void hold(Sequence& sequence);
  // A paused sequence is not scheduled and keeps its place in line; it keeps seat and pages until
  // somebody needs them, and is the first to lose them.
  void pause(Sequence& sequence);
  void resume(Sequence& sequence);
  // Ends a sequence for whatever reason. What it computed stays in the prefix tree.
  void finish(SequenceId id);

  bool has_work() const { return !sequences_.empty(); }
  // Whether there is anything to compute: not when all that is left is paused.
  bool can_step() const;
  // When plan_step() has something to do even without that.
  Instant next_deadline() const;
  SchedulerStats stats() const;
  // Slots in pages that running sequences own but have not filled, over all slots they own; shared
  // pages count once.
  double waste() const;
  PrefixTree* prefixes() { return tree_.get(); }
  PagePool& pool(size_t group) { return *pools_[group]; }
  const SchedulerOptions& options() const { return options_; }
  std::span<Sequence* const> running() const { return running_; }

 private:
  struct Before {  // by priority, arrival, id
    bool operator()(const Sequence* a, const Sequence* b) const;
  };

  void drop_expired(Instant now, StepPlan& plan);
  void plan_running(StepPlan& plan);
  Sequence* last_held() const;
  Sequence* last_paused() const;
  void admit(StepPlan& plan);
  Sequence* victim_for(const Sequence& sequence, const StepPlan& plan) const;
  // One of max_num_seqs.
  bool take_seat(const Sequence& sequence, StepPlan& plan);
  // Matches the prefix tree and takes pages for the first chunk; changes nothing when it cannot.
  bool start(Sequence& sequence, StepPlan& plan, bool with_partial);
  void attach(Sequence& sequence, PrefixMatch& match);
  bool will_find_more(const Sequence& sequence, const StepPlan& plan) const;
  bool has_room_for_all_of(const Sequence& sequence) const;
  void add_chunk(Sequence& sequence, StepPlan& plan);
  // Pages for the next `tokens`; takes them from the tree, from paused sequences, and where it may
  // preempt from sequences after this one.
  bool make_room(Sequence& sequence, int64_t tokens, StepPlan& plan, bool may_preempt);
  int64_t new_pages(const Sequence& sequence, size_t group, int64_t tokens) const;
  bool writes_shared_page(const Sequence& sequence, size_t group) const;
  void take_pages(Sequence& sequence, int64_t tokens);
  Sequence* victim_after(const Sequence& sequence) const;
  void preempt(Sequence& victim, StepPlan& plan);
  void register_pages(Sequence& sequence);
  void release_window(Sequence& sequence);
  // Leaves what it computed to the prefix tree and lets go of all pages.
  void release_cache(Sequence& sequence);
  void seat(Sequence& sequence);
  void unseat(Sequence& sequence);
  int64_t available(size_t group) const;
  int64_t pages_for(int64_t tokens) const {
    return (tokens + options_.page_tokens - 1) / options_.page_tokens;
  }

  SchedulerOptions options_;
  PageMemory& memory_;
  std::vector<std::unique_ptr<PagePool>> pools_;  // [group]
  std::unique_ptr<PrefixTree> tree_;              // null without a prefix cache
  std::unordered_map<SequenceId, std::unique_ptr<Sequence>> sequences_;
  std::vector<Sequence*> running_;       // in order
  std::set<Sequence*, Before> waiting_;  // in order; held and paused ones are not in it
  std::set<std::pair<Instant, SequenceId>> deadlines_;
  SequenceId next_id_ = 1;
  int64_t next_arrival_ = 1;
  SchedulerStats stats_;
};

}  // namespace ingot

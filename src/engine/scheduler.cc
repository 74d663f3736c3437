// SPDX-License-Identifier: Apache-2.0
#include "engine/scheduler.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace ingot {
namespace {

std::vector<PrefixGroup> prefix_groups(const std::vector<std::unique_ptr<PagePool>>& pools,
                                       const SchedulerOptions& options) {
  std::vector<PrefixGroup> groups;
  for (size_t i = 0; i < pools.size(); ++i)
    groups.push_back({pools[i].get(), options.groups[i].window});
  return groups;
}

}  // namespace

bool Scheduler::Before::operator()(const Sequence* a, const Sequence* b) const {
  return std::tie(a->request.priority, a->arrival, a->id) <
         std::tie(b->request.priority, b->arrival, b->id);
}

Scheduler::Scheduler(SchedulerOptions options, PageMemory& memory)
    : options_(std::move(options)), memory_(memory) {
  INGOT_CHECK(!options_.groups.empty() && options_.max_num_seqs > 0);
  INGOT_CHECK(options_.max_num_batched_tokens >= options_.max_num_seqs);
  for (const SchedulerGroup& group : options_.groups)
    pools_.push_back(std::make_unique<PagePool>(group.pages));
  if (!options_.has_prefix_cache) return;
  PrefixTreeOptions tree;
  tree.page_tokens = options_.page_tokens;
  tree.groups = prefix_groups(pools_, options_);
  tree.namespace_share = options_.namespace_share;
  if (options_.store != nullptr) {
    tree.memory = &memory_;
    tree.store = options_.store;
  }
  tree_ = std::make_unique<PrefixTree>(std::move(tree));
  tree_->restore();
}

Status Scheduler::check_fits(int64_t max_length) const {
  for (const SchedulerGroup& group : options_.groups) {
    // One page more than its tokens need: for the copy of a shared page that it writes to.
    int64_t pages = pages_for(max_length) + 1;
    if (group.window > 0) {
      // Before a chunk the pages of a whole window are held, and the chunk's own on top.
      const int64_t most = pages_for(group.window + options_.max_num_batched_tokens) + 2;
      pages = std::min(pages, most);
    }
    if (pages <= group.pages) continue;
    return Status::invalid_argument(
        "a sequence of {} tokens needs {} pages of the KV cache, which has {} ({} tokens); ask for "
        "fewer tokens or give the cache more --kv-cache-memory",
        max_length, pages, group.pages, group.pages * options_.page_tokens);
  }
  return Status::ok();
}

Result<SequenceId> Scheduler::add(SequenceRequest request) {
  INGOT_CHECK(!request.prompt.empty());
  INGOT_CHECK(request.max_length >= static_cast<int64_t>(request.prompt.size()));
  INGOT_TRY(check_fits(request.max_length));
  auto sequence = std::make_unique<Sequence>();
  sequence->id = next_id_++;
  sequence->arrival = next_arrival_++;
  sequence->tokens = request.prompt;
  sequence->request = std::move(request);
  if (sequence->request.deadline != kNever)
    deadlines_.emplace(sequence->request.deadline, sequence->id);
  waiting_.insert(sequence.get());
  const SequenceId id = sequence->id;
  sequences_.emplace(id, std::move(sequence));
  return id;
}

Sequence* Scheduler::find(SequenceId id) {
  const auto it = sequences_.find(id);
  return it == sequences_.end() ? nullptr : it->second.get();
}

// Decodes come first, oldest first: nobody's next token waits for another's prompt. Prompts then
// share what is left of the budget in order, those that have begun before those that wait.
StepPlan Scheduler::plan_step(Instant now) {
  StepPlan plan;
  drop_expired(now, plan);
  plan_running(plan);
  // Held sequences keep their pages only for as long as somebody else can go on with what is left.
  while (plan.items.empty() && last_held() != nullptr &&
         std::ranges::any_of(running_, &Sequence::can_run)) {
    preempt(*last_held(), plan);
    plan_running(plan);
  }
  admit(plan);
  return plan;
}

void Scheduler::plan_running(StepPlan& plan) {
  // Planning may preempt: walk over a copy, and skip who has lost its seat meanwhile.
  const std::vector<Sequence*> order = running_;
  for (const bool is_decoding : {true, false}) {
    for (Sequence* sequence : order) {
      if (sequence->state != SequenceState::kRunning || !sequence->can_run()) continue;
      if ((sequence->pending() == 1) == is_decoding) add_chunk(*sequence, plan);
    }
  }
}

Sequence* Scheduler::last_held() const {
  const auto held = std::find_if(running_.rbegin(), running_.rend(),
                                 [](const Sequence* running) { return running->is_held; });
  return held == running_.rend() ? nullptr : *held;
}

Sequence* Scheduler::last_paused() const {
  const auto paused = std::find_if(running_.rbegin(), running_.rend(),
                                   [](const Sequence* running) { return running->is_paused; });
  return paused == running_.rend() ? nullptr : *paused;
}

bool Scheduler::can_step() const {
  return !waiting_.empty() || std::ranges::any_of(running_, &Sequence::can_run);
}

Instant Scheduler::next_deadline() const {
  return deadlines_.empty() ? kNever : deadlines_.begin()->first;
}

void Scheduler::drop_expired(Instant now, StepPlan& plan) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    plan.expired.push_back(deadlines_.begin()->second);
    finish(deadlines_.begin()->second);
  }
}

// The next run of a sequence's pending tokens, as many as budget and pages allow.
void Scheduler::add_chunk(Sequence& sequence, StepPlan& plan) {
  const int64_t budget = options_.max_num_batched_tokens - plan.tokens;
  int64_t chunk = std::min({sequence.pending(), sequence.request.max_chunk, budget});
  if (chunk <= 0) return;
  // What is free or cached is taken whole; only a sequence that would stand still preempts others.
  while (chunk > 1 && !make_room(sequence, chunk, plan, /*may_preempt=*/false))
    chunk /= 2;
  if (chunk == 1 && !make_room(sequence, 1, plan, /*may_preempt=*/true)) return;
  take_pages(sequence, chunk);
  plan.items.push_back({&sequence, chunk, chunk == sequence.pending()});
  plan.tokens += chunk;
}

void Scheduler::admit(StepPlan& plan) {
  while (!waiting_.empty() && plan.tokens < options_.max_num_batched_tokens) {
    Sequence& sequence = **waiting_.begin();
    if (!take_seat(sequence, plan)) return;
    // Nobody overtakes the first in line: long prompts would starve.
    const bool is_started =
        start(sequence, plan, true) || (running_.empty() && start(sequence, plan, false));
    INGOT_CHECK(is_started || !running_.empty());
    if (!is_started) return;
  }
}

// Who gives way to a sequence that waits: a paused one; the least urgent one of a less urgent
// class; and when nothing else can run, a held one, whose siblings may be among those that wait.
Sequence* Scheduler::victim_for(const Sequence& sequence, const StepPlan& plan) const {
  if (running_.empty()) return nullptr;
  if (Sequence* paused = last_paused()) return paused;
  if (running_.back()->request.priority > sequence.request.priority) return running_.back();
  return plan.items.empty() ? last_held() : nullptr;
}

bool Scheduler::take_seat(const Sequence& sequence, StepPlan& plan) {
  if (static_cast<int64_t>(running_.size()) < options_.max_num_seqs) return true;
  Sequence* victim = victim_for(sequence, plan);
  if (victim == nullptr) return false;
  preempt(*victim, plan);
  return true;
}

bool Scheduler::start(Sequence& sequence, StepPlan& plan, bool with_partial) {
  sequence.tables.assign(pools_.size(), {});
  PrefixMatch match;
  if (tree_ != nullptr) {
    int64_t most = std::min(sequence.size() - 1, sequence.request.first_scored);
    if (!with_partial) most -= most % options_.page_tokens;
    match = tree_->match(sequence.request.space, sequence.tokens, most);
    attach(sequence, match);
  }
  const auto give_up = [&] {
    if (tree_ != nullptr) tree_->release(match);
    sequence.tables.clear();
    sequence.node = nullptr;
    sequence.computed = sequence.registered = 0;
    return false;
  };
  if (will_find_more(sequence, plan)) return give_up();
  // Room for all of it, so that it is not preempted as soon as it is admitted.
  while (!has_room_for_all_of(sequence)) {
    Sequence* victim = victim_for(sequence, plan);
    if (victim == nullptr) return give_up();
    preempt(*victim, plan);
  }
  int64_t chunk = std::min({sequence.pending(), sequence.request.max_chunk,
                            options_.max_num_batched_tokens - plan.tokens});
  while (chunk > 0 && !make_room(sequence, chunk, plan, /*may_preempt=*/false))
    chunk /= 2;
  if (chunk == 0) return give_up();

  const int64_t matched = sequence.computed;
  take_pages(sequence, chunk);
  if (!match.partial.empty()) {
    const auto index = static_cast<size_t>(matched / options_.page_tokens);
    for (size_t group = 0; group < pools_.size(); ++group)
      memory_.copy(group, match.partial[group], sequence.tables[group][index]);
    tree_->drop_partial(match);
  }
  if (sequence.preemptions == 0 && sequence.size() == sequence.prompt_size()) {
    sequence.reused = matched;
    stats_.prompt_tokens += sequence.prompt_size();
    stats_.reused_tokens += matched;
  }
  waiting_.erase(&sequence);
  seat(sequence);
  plan.items.push_back({&sequence, chunk, chunk == sequence.pending()});
  plan.tokens += chunk;
  return true;
}

// Whether this very step computes a further page of its prompt for another sequence: then it is
// found in the tree one step later, and need not be computed twice.
bool Scheduler::will_find_more(const Sequence& sequence, const StepPlan& plan) const {
  if (tree_ == nullptr || sequence.request.first_scored <= sequence.computed) return false;
  return std::ranges::any_of(plan.items, [&](const StepPlan::Item& item) {
    const Sequence& other = *item.sequence;
    const int64_t end = other.computed + item.tokens;
    if (item.tokens == 1 || end < sequence.computed + options_.page_tokens ||
        other.request.space != sequence.request.space) {
      return false;
    }
    const std::span<const TokenId> soon(other.tokens.data(), static_cast<size_t>(end));
    const auto [mine, theirs] = std::ranges::mismatch(sequence.tokens, soon);
    return mine - sequence.tokens.begin() >= sequence.computed + options_.page_tokens;
  });
}

void Scheduler::attach(Sequence& sequence, PrefixMatch& match) {
  sequence.tables = match.pages;
  sequence.node = match.node;
  sequence.computed = match.tokens;
  sequence.registered = match.tokens - match.tokens % options_.page_tokens;
}

void Scheduler::commit(const StepPlan& plan) {
  for (const StepPlan::Item& item : plan.items) {
    Sequence& sequence = *item.sequence;
    sequence.computed += item.tokens;
    register_pages(sequence);
    release_window(sequence);
  }
}

void Scheduler::append(Sequence& sequence, TokenId token) {
  INGOT_CHECK(sequence.state != SequenceState::kEnded);
  INGOT_CHECK(sequence.size() < sequence.request.max_length);
  sequence.tokens.push_back(token);
  if (!sequence.is_held) return;
  sequence.is_held = false;
  if (sequence.state == SequenceState::kWaiting && sequence.can_run()) waiting_.insert(&sequence);
}

void Scheduler::guess(Sequence& sequence, int64_t row) {
  INGOT_CHECK(!sequence.is_guessed());
  append(sequence, kUnknownToken);
  sequence.unknown_row = row;
}

void Scheduler::resolve(Sequence& sequence, TokenId token) {
  INGOT_CHECK(sequence.is_guessed());
  sequence.tokens.back() = token;
  sequence.unknown_row = -1;
  register_pages(sequence);
}

void Scheduler::restart(Sequence& sequence) {
  StepPlan none;
  if (sequence.state == SequenceState::kRunning) preempt(sequence, none);
  if (!sequence.is_guessed()) return;
  sequence.tokens.pop_back();
  sequence.unknown_row = -1;
}

void Scheduler::hold(Sequence& sequence) {
  sequence.is_held = true;
  waiting_.erase(&sequence);
}

void Scheduler::pause(Sequence& sequence) {
  if (sequence.is_paused) return;
  sequence.is_paused = true;
  ++stats_.paused;
  waiting_.erase(&sequence);
}

void Scheduler::resume(Sequence& sequence) {
  if (!sequence.is_paused) return;
  sequence.is_paused = false;
  --stats_.paused;
  if (sequence.state == SequenceState::kWaiting && sequence.can_run()) waiting_.insert(&sequence);
}

Sequence& Scheduler::fork(const Sequence& parent) {
  auto child = std::make_unique<Sequence>(parent);
  child->id = next_id_++;
  child->preemptions = 0;
  INGOT_CHECK(!child->is_paused);  // what forks has just been computed
  Sequence& result = *child;
  sequences_.emplace(child->id, std::move(child));
  if (result.request.deadline != kNever) deadlines_.emplace(result.request.deadline, result.id);
  const bool has_seat = static_cast<int64_t>(running_.size()) < options_.max_num_seqs;
  if (parent.state == SequenceState::kRunning && has_seat) {
    for (size_t group = 0; group < pools_.size(); ++group) {
      for (const PageId page : result.tables[group])
        if (page != kNoPage) pools_[group]->add_reference(page);
    }
    if (tree_ != nullptr) tree_->pin(result.node);
    seat(result);
    return result;
  }
  result.state = SequenceState::kWaiting;
  result.tables.clear();
  result.node = nullptr;
  result.computed = result.registered = 0;
  if (!result.is_held) waiting_.insert(&result);
  return result;
}

void Scheduler::finish(SequenceId id) {
  const auto it = sequences_.find(id);
  if (it == sequences_.end()) return;
  Sequence& sequence = *it->second;
  if (sequence.state == SequenceState::kRunning) {
    release_cache(sequence);
    unseat(sequence);
  }
  waiting_.erase(&sequence);
  if (sequence.is_paused) --stats_.paused;
  deadlines_.erase({sequence.request.deadline, id});
  sequences_.erase(it);
}

void Scheduler::seat(Sequence& sequence) {
  sequence.state = SequenceState::kRunning;
  running_.insert(std::ranges::upper_bound(running_, &sequence, Before()), &sequence);
}

void Scheduler::unseat(Sequence& sequence) {
  std::erase(running_, &sequence);
}

SchedulerStats Scheduler::stats() const {
  SchedulerStats stats = stats_;
  stats.running = std::ranges::count(running_, false, &Sequence::is_paused);
  stats.waiting = static_cast<int64_t>(waiting_.size());
  for (size_t group = 0; group < pools_.size(); ++group) {
    stats.pages_total.push_back(pools_[group]->size());
    stats.pages_free.push_back(pools_[group]->free_pages());
    stats.pages_cached.push_back(tree_ == nullptr ? 0 : tree_->evictable(group));
  }
  return stats;
}

}  // namespace ingot

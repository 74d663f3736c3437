// SPDX-License-Identifier: Apache-2.0
// The scheduler, the pools and the prefix tree under random load with a fake model and virtual
// time. The fake model keeps in each slot of the cache a hash of the whole prefix, computed from
// the slot before it: a page that is lost, shared too long, copied wrongly or given to two owners
// changes a token. Every run is a function of its seed; a failure names it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "engine/host_tier.h"
#include "engine/random.h"
#include "engine/scheduler.h"

namespace ingot {
namespace {

constexpr int kPageSlots = 16;  // tokens a page

uint64_t mix(uint64_t hash, TokenId token) {
  return random_bits(hash, static_cast<uint64_t>(token));
}
TokenId next_token(uint64_t hash, int choice) {
  return static_cast<TokenId>(random_bits(hash, 977 + static_cast<uint64_t>(choice)) % 50);
}

class FakeMemory : public HostPageMemory {
 public:
  explicit FakeMemory(const std::vector<SchedulerGroup>& groups) {
    for (const SchedulerGroup& group : groups)
      bytes_.emplace_back(static_cast<size_t>(group.pages) * kPageSlots, 0);
  }
  std::span<std::byte> page(size_t group, PageId id) override {
    const std::span<uint64_t> all(bytes_[group]);
    return std::as_writable_bytes(all.subspan(static_cast<size_t>(id) * kPageSlots, kPageSlots));
  }
  uint64_t& slot(size_t group, const PageTable& table, int64_t position) {
    const PageId id = table[static_cast<size_t>(position / kPageSlots)];
    EXPECT_NE(id, kNoPage) << "position " << position << " of group " << group;
    return bytes_[group][static_cast<size_t>(id) * kPageSlots +
                         static_cast<size_t>(position % kPageSlots)];
  }

 private:
  std::vector<std::vector<uint64_t>> bytes_;
};

struct Load {
  SchedulerOptions options;
  int requests = 0;
  int64_t longest_prompt = 120;
  int64_t longest_answer = 60;
  double arrivals_per_step = 0.3;
  double cancels_per_step = 0.01;
  int priorities = 1;
  int tenants = 1;
  bool has_forks = true;
  bool has_holds = false;
  bool has_deadlines = false;
  double pauses_per_step = 0;
  size_t tier_bytes = 0;
};

// One random run; every decision is drawn from the seed.
class Simulation {
 public:
  Simulation(uint64_t seed, Load load)
      : seed_(seed),
        load_(std::move(load)),
        memory_(load_.options.groups),
        tier_(load_.tier_bytes, nullptr) {
    if (load_.tier_bytes > 0) load_.options.store = &tier_;
    scheduler_.emplace(load_.options, memory_);
    for (int i = 0; i < 6; ++i) {  // what prompts have in common
      std::vector<TokenId> prefix;
      if (i > 0) prefix = prefixes_[below(prefixes_.size())];
      for (uint64_t n = below(50); n > 0; --n)
        prefix.push_back(static_cast<TokenId>(below(50)));
      prefixes_.push_back(std::move(prefix));
    }
  }

  // Runs until every request has ended; the number of steps.
  int64_t run() {
    while (submitted_ < load_.requests || scheduler_->has_work()) {
      arrive();
      cancel();
      pause();
      step();
      if (::testing::Test::HasFailure()) return steps_;
      check_references();
      if (steps_ > 10'000'000) {
        ADD_FAILURE() << "does not end";
        return steps_;
      }
    }
    check_references();
    EXPECT_TRUE(truths_.empty()) << truths_.size() << " sequences never ended";
    return steps_;
  }

  const Scheduler& scheduler() const { return *scheduler_; }
  int64_t finished() const { return finished_; }

 private:
  struct Truth {
    std::vector<uint64_t> hashes;  // of each prefix, from an honest computation
    int choice = 0;
    int64_t forks_left = 0;
    bool is_admitted = false;
    bool was_paused = false;
  };

  uint64_t below(uint64_t limit) {
    return random_bits(seed_, draws_++) % std::max<uint64_t>(limit, 1);
  }
  bool chance(double probability) { return uniform(seed_, draws_++) < probability; }

  void arrive() {
    while (submitted_ < load_.requests && chance(load_.arrivals_per_step)) {
      SequenceRequest request;
      request.prompt = prefixes_[below(prefixes_.size())];
      do {
        request.prompt.push_back(static_cast<TokenId>(below(50)));
      } while (static_cast<int64_t>(request.prompt.size()) < load_.longest_prompt && chance(0.95));
      const auto size = static_cast<int64_t>(request.prompt.size());
      request.max_length =
          size + 1 + static_cast<int64_t>(below(static_cast<uint64_t>(load_.longest_answer)));
      request.priority = static_cast<int32_t>(below(static_cast<uint64_t>(load_.priorities)));
      request.space.salt = std::to_string(below(static_cast<uint64_t>(load_.tenants)));
      if (load_.has_deadlines && chance(0.2))
        request.deadline = Instant(steps_ + static_cast<int64_t>(below(200)));
      ++submitted_;
      const Status fits = scheduler_->check_fits(request.max_length);
      const Result<SequenceId> id = scheduler_->add(request);
      ASSERT_EQ(id.is_ok(), fits.is_ok());
      if (!id.is_ok()) continue;
      Truth truth;
      for (const TokenId token : request.prompt)
        extend(truth, token);
      if (load_.has_forks && chance(0.2)) truth.forks_left = 1 + static_cast<int64_t>(below(3));
      truths_.emplace(*id, std::move(truth));
    }
  }

  void cancel() {
    if (truths_.empty() || !chance(load_.cancels_per_step)) return;
    auto it = truths_.begin();
    std::advance(it, below(truths_.size()));
    scheduler_->finish(it->first);
    truths_.erase(it);
  }

  // Readers that cannot keep up, and that catch up again.
  void pause() {
    if (load_.pauses_per_step == 0) return;
    std::erase_if(paused_, [&](SequenceId id) {
      Sequence* sequence = scheduler_->find(id);
      if (sequence != nullptr && !chance(0.05)) return false;
      if (sequence != nullptr) scheduler_->resume(*sequence);
      return true;
    });
    if (truths_.empty() || !chance(load_.pauses_per_step)) return;
    auto it = truths_.begin();
    std::advance(it, below(truths_.size()));
    it->second.was_paused = true;
    scheduler_->pause(*scheduler_->find(it->first));
    paused_.insert(it->first);
    ASSERT_EQ(scheduler_->stats().paused, static_cast<int64_t>(paused_.size()));
  }

  static void extend(Truth& truth, TokenId token) {
    truth.hashes.push_back(mix(truth.hashes.empty() ? 1 : truth.hashes.back(), token));
  }

  void step() {
    ++steps_;
    const StepPlan plan = scheduler_->plan_step(Instant(steps_));
    for (const SequenceId id : plan.expired)
      truths_.erase(id);
    check_budgets(plan);
    for (const StepPlan::Item& item : plan.items)
      forward(item);
    scheduler_->commit(plan);
    for (const StepPlan::Item& item : plan.items)
      if (item.is_last) sample(*item.sequence);
    release_held(plan.items.empty());
  }

  // Slot by slot, each from the one before it as the page table shows it.
  void forward(const StepPlan::Item& item) {
    Sequence& sequence = *item.sequence;
    const Truth& truth = truths_.at(sequence.id);
    for (int64_t i = 0; i < item.tokens; ++i) {
      const int64_t position = sequence.computed + i;
      const TokenId token = sequence.tokens[static_cast<size_t>(position)];
      for (size_t group = 0; group < sequence.tables.size(); ++group) {
        const PageTable& table = sequence.tables[group];
        const uint64_t before = position == 0 ? 1 : memory_.slot(group, table, position - 1);
        memory_.slot(group, table, position) = mix(before, token);
        // Attention reads the whole window: look somewhere into it.
        const int64_t window = load_.options.groups[group].window;
        const int64_t reach = window == 0 ? position + 1 : std::min(position + 1, window);
        const int64_t seen = position - static_cast<int64_t>(below(static_cast<uint64_t>(reach)));
        ASSERT_EQ(memory_.slot(group, table, seen), truth.hashes[static_cast<size_t>(seen)])
            << "sequence " << sequence.id << " position " << seen << " seen from " << position
            << " in group " << group;
      }
    }
  }

  void sample(Sequence& sequence) {
    Truth& truth = truths_.at(sequence.id);
    ASSERT_EQ(sequence.pending(), 0);
    if (sequence.size() >=
        sequence.request.max_length) {  // the last token was computed for nothing
      end(sequence.id);
      return;
    }
    for (; truth.forks_left > 0; --truth.forks_left) {
      Sequence& child = scheduler_->fork(sequence);
      Truth copy = truth;
      copy.choice = static_cast<int>(truth.forks_left);
      copy.forks_left = 0;
      const TokenId token = next_token(copy.hashes.back(), copy.choice);
      extend(copy, token);
      truths_.emplace(child.id, std::move(copy));
      scheduler_->append(child, token);
    }
    if (load_.has_holds && chance(0.2)) {
      scheduler_->hold(sequence);
      held_.push_back(sequence.id);
      return;
    }
    grow(sequence);
  }

  void end(SequenceId id) {  // by value: the sequence dies here
    scheduler_->finish(id);
    truths_.erase(id);
    ++finished_;
  }

  void grow(Sequence& sequence) {
    Truth& truth = truths_.at(sequence.id);
    const TokenId token = next_token(truth.hashes.back(), truth.choice);
    extend(truth, token);
    scheduler_->append(sequence, token);
    if (chance(0.02)) {  // a stop token
      end(sequence.id);
    }
  }

  void release_held(bool all) {
    std::vector<SequenceId> still;
    for (const SequenceId id : held_) {
      Sequence* sequence = scheduler_->find(id);
      if (sequence == nullptr) continue;
      if (all || chance(0.3)) {
        grow(*sequence);
      } else {
        still.push_back(id);
      }
    }
    held_ = std::move(still);
  }

  void check_budgets(const StepPlan& plan) {
    int64_t tokens = 0;
    std::set<const Sequence*> seen;
    for (const StepPlan::Item& item : plan.items) {
      tokens += item.tokens;
      ASSERT_TRUE(seen.insert(item.sequence).second) << "planned twice";
      ASSERT_GT(item.tokens, 0);
      ASSERT_EQ(item.is_last, item.tokens == item.sequence->pending());
      ASSERT_EQ(item.sequence->state, SequenceState::kRunning);
      ASSERT_TRUE(item.sequence->can_run());
      check_order(*item.sequence);
    }
    ASSERT_EQ(tokens, plan.tokens);
    ASSERT_LE(tokens, load_.options.max_num_batched_tokens);
    ASSERT_LE(static_cast<int64_t>(scheduler_->running().size()), load_.options.max_num_seqs);
    const bool can_run = scheduler_->stats().waiting > 0 ||
                         std::ranges::any_of(scheduler_->running(), &Sequence::can_run);
    ASSERT_EQ(scheduler_->can_step(), can_run);
    ASSERT_TRUE(!plan.items.empty() || !can_run)
        << "nothing moves in step " << steps_ << describe();
  }

  // First come, first served inside a priority. With "something moves in every step" and lengths
  // bounded, this bounds how long anyone waits.
  void check_order(const Sequence& sequence) {
    Truth& truth = truths_.at(sequence.id);
    if (truth.is_admitted) return;
    truth.is_admitted = true;
    int64_t& last = last_admitted_[sequence.request.priority];
    // Forks stand in line with their parents' arrival, and who pauses lets others pass.
    if (truth.choice == 0 && !truth.was_paused) {
      ASSERT_GE(sequence.arrival, last) << "sequence " << sequence.id << " was overtaken";
    }
    last = std::max(last, sequence.arrival);
  }

  std::string describe() {
    const SchedulerStats stats = scheduler_->stats();
    std::string text = fmt::format("; {} waiting; pages", stats.waiting);
    for (size_t group = 0; group < stats.pages_total.size(); ++group) {
      text += fmt::format(" {} ({} free, {} cached, window {})", stats.pages_total[group],
                          stats.pages_free[group], stats.pages_cached[group],
                          load_.options.groups[group].window);
    }
    for (const Sequence* running : scheduler_->running()) {
      text += fmt::format("; sequence {}: {} of {} tokens computed, {}", running->id,
                          running->computed, running->size(),
                          running->is_held     ? "held"
                          : running->is_paused ? "paused"
                                               : "free");
    }
    return text;
  }

  // Each page's references are the tables' and the tree's; no page is lost.
  void check_references() {
    for (size_t group = 0; group < load_.options.groups.size(); ++group) {
      std::map<PageId, int32_t> expected;
      for (const Sequence* sequence : scheduler_->running()) {
        for (const PageId page : sequence->tables[group])
          if (page != kNoPage) ++expected[page];
      }
      if (scheduler_->prefixes() != nullptr) {
        scheduler_->prefixes()->for_each([&](const PrefixNode& node) {
          if (node.pages.empty()) return;  // a root
          if (node.pages[group] != kNoPage) ++expected[node.pages[group]];
        });
      }
      const PagePool& pool = scheduler_->pool(group);
      for (const auto& [page, count] : expected)
        ASSERT_EQ(pool.references(page), count) << "page " << page << " of group " << group;
      ASSERT_EQ(pool.free_pages() + static_cast<int64_t>(expected.size()), pool.size());
    }
  }

  uint64_t seed_;
  uint64_t draws_ = 0;
  Load load_;
  FakeMemory memory_;
  HostTier tier_;
  std::optional<Scheduler> scheduler_;
  std::vector<std::vector<TokenId>> prefixes_;
  std::map<SequenceId, Truth> truths_;
  std::vector<SequenceId> held_;
  std::set<SequenceId> paused_;
  std::map<int32_t, int64_t> last_admitted_;  // arrival, by priority
  int64_t submitted_ = 0;
  int64_t finished_ = 0;
  int64_t steps_ = 0;
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kSteps = 30'000;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr int64_t kSteps = 30'000;  // sanitizers are slow
#else
constexpr int64_t kSteps = 1'000'000;
#endif
#else
constexpr int64_t kSteps = 1'000'000;
#endif

// INGOT_SIMULATION_SEED replays one seed.
uint64_t first_seed() {
  const char* text = std::getenv("INGOT_SIMULATION_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

Load random_load(uint64_t seed) {
  uint64_t draw = 0;
  const auto below = [&](uint64_t limit) {
    return static_cast<int64_t>(random_bits(seed * 31 + 7, draw++) % limit);
  };
  Load load;
  load.options.page_tokens = kPageSlots;
  load.options.max_num_seqs = 1 + below(12);
  load.options.max_num_batched_tokens = load.options.max_num_seqs + below(80);
  load.options.has_prefix_cache = below(5) != 0;
  load.options.groups.push_back({.pages = 14 + below(60), .window = 0});
  if (below(2) == 0)
    load.options.groups.push_back({.pages = 14 + below(60), .window = 2 + below(70)});
  if (below(4) == 0)
    load.options.groups.push_back({.pages = 14 + below(60), .window = 2 + below(20)});
  load.priorities = 1 + static_cast<int>(below(3));
  load.tenants = 1 + static_cast<int>(below(3));
  load.has_forks = below(2) == 0;
  load.has_holds = below(3) == 0;
  load.has_deadlines = below(3) == 0;
  load.arrivals_per_step = 0.05 + 0.01 * static_cast<double>(below(60));
  if (load.options.has_prefix_cache && below(3) == 0) load.tier_bytes = 1 << 14;
  if (below(3) == 0) load.pauses_per_step = 0.02 * static_cast<double>(1 + below(10));
  load.requests = 120;
  return load;
}

TEST(Simulation, KeepsEveryInvariantUnderRandomLoad) {
  const bool is_replay = std::getenv("INGOT_SIMULATION_SEED") != nullptr;
  const char* wanted = std::getenv("INGOT_SIMULATION_STEPS");
  const int64_t most = wanted == nullptr ? kSteps : std::strtoll(wanted, nullptr, 10);
  int64_t steps = 0;
  int64_t preemptions = 0;
  int64_t reused = 0;
  for (uint64_t seed = first_seed(); steps < most; ++seed) {
    SCOPED_TRACE(fmt::format("INGOT_SIMULATION_SEED={}", seed));
    Simulation simulation(seed, random_load(seed));
    steps += simulation.run();
    preemptions += simulation.scheduler().stats().preemptions;
    reused += simulation.scheduler().stats().reused_tokens;
    if (HasFailure() || is_replay) return;
  }
  EXPECT_GT(preemptions, 0);
  EXPECT_GT(reused, 0);
}

}  // namespace
}  // namespace ingot

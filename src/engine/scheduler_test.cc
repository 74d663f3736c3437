// SPDX-License-Identifier: Apache-2.0
// Single decisions of the scheduler, step by step. What holds under any load is in
// simulation_test.cc.
#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <numeric>

namespace ingot {
namespace {

constexpr int64_t kSlots = 4;  // tokens a page

class NoBytes final : public HostPageMemory {
 public:
  std::span<std::byte> page(size_t /*group*/, PageId /*id*/) override { return {}; }
};

class SchedulerTest : public ::testing::Test {
 protected:
  // One group of full attention; nothing is cached unless asked for.
  void make(int64_t pages, int64_t seats = 8, bool has_prefix_cache = false) {
    SchedulerOptions options;
    options.page_tokens = kSlots;
    options.max_num_seqs = seats;
    options.max_num_batched_tokens = 64;
    options.groups = {{.pages = pages}};
    options.has_prefix_cache = has_prefix_cache;
    scheduler_.emplace(options, memory_);
  }
  SequenceId add(int64_t prompt, int64_t max_length, Instant deadline = kNever) {
    SequenceRequest request;
    request.prompt.resize(static_cast<size_t>(prompt));
    std::iota(request.prompt.begin(), request.prompt.end(), TokenId{100} * next_prompt_++);
    request.max_length = max_length;
    request.deadline = deadline;
    return *scheduler_->add(request);
  }
  Sequence& at(SequenceId id) { return *scheduler_->find(id); }
  // Every sequence that reaches its end gets a token; who has moved.
  std::vector<SequenceId> step() {
    const StepPlan plan = scheduler_->plan_step(Instant(++now_));
    scheduler_->commit(plan);
    std::vector<SequenceId> moved;
    for (const StepPlan::Item& item : plan.items) {
      moved.push_back(item.sequence->id);
      if (item.is_last && item.sequence->size() < item.sequence->request.max_length)
        scheduler_->append(*item.sequence, 7);
    }
    return moved;
  }
  int64_t pages_of(SequenceId id) {
    return at(id).tables.empty() ? 0 : std::ssize(at(id).tables[0]);
  }

  NoBytes memory_;
  std::optional<Scheduler> scheduler_;
  TokenId next_prompt_ = 1;
  int64_t now_ = 0;
};

using SequenceIds = std::vector<SequenceId>;

TEST_F(SchedulerTest, APausedSequenceStandsStillAndKeepsItsPages) {
  make(/*pages=*/20);
  const SequenceId a = add(6, 20);
  const SequenceId b = add(6, 20);
  EXPECT_EQ(step(), (SequenceIds{a, b}));
  scheduler_->pause(at(a));
  EXPECT_EQ(step(), SequenceIds{b});
  EXPECT_EQ(pages_of(a), 2);
  EXPECT_EQ(scheduler_->stats().paused, 1);
  EXPECT_EQ(scheduler_->stats().running, 1);
  scheduler_->pause(at(b));
  EXPECT_FALSE(scheduler_->can_step());
  EXPECT_TRUE(scheduler_->has_work());
  EXPECT_EQ(step(), SequenceIds());
  scheduler_->resume(at(a));
  EXPECT_TRUE(scheduler_->can_step());
  EXPECT_EQ(step(), SequenceIds{a});
  EXPECT_EQ(scheduler_->stats().preemptions, 0);
}

TEST_F(SchedulerTest, APausedSequenceLosesItsPagesBeforeAnyOther) {
  make(/*pages=*/8);
  const SequenceId first = add(7, 16);
  const SequenceId second = add(7, 16);
  EXPECT_EQ(step(), (SequenceIds{first, second}));
  scheduler_->pause(at(first));  // the first in order, which nobody may preempt while it runs
  while (at(second).size() < 16)
    ASSERT_EQ(step(), SequenceIds{second});
  EXPECT_EQ(pages_of(first), 2);  // nobody needed more than was free
  const SequenceId third = add(10, 16);
  EXPECT_EQ(step(), (SequenceIds{second, third}));
  EXPECT_EQ(pages_of(first), 0);
  EXPECT_EQ(at(second).preemptions + at(third).preemptions, 0);
  EXPECT_EQ(scheduler_->stats().waiting, 0);
  scheduler_->finish(second);
  scheduler_->resume(at(first));
  EXPECT_EQ(scheduler_->stats().waiting, 1);
  const SequenceIds moved = step();
  EXPECT_EQ(moved.back(), first);
}

TEST_F(SchedulerTest, APausedSequenceGivesItsSeatToOneThatWaits) {
  make(/*pages=*/40, /*seats=*/1);
  const SequenceId a = add(6, 20);
  const SequenceId b = add(6, 20);
  EXPECT_EQ(step(), SequenceIds{a});
  scheduler_->pause(at(a));
  EXPECT_EQ(step(), SequenceIds{b});
  scheduler_->resume(at(a));
  EXPECT_EQ(step(), SequenceIds{b});  // equals do not preempt each other
  scheduler_->finish(b);
  EXPECT_EQ(step(), SequenceIds{a});
}

TEST_F(SchedulerTest, OneThatIsPausedWhileItWaitsIsNotAdmitted) {
  make(/*pages=*/40);
  const SequenceId a = add(6, 20);
  const SequenceId b = add(6, 20);
  scheduler_->pause(at(a));
  EXPECT_EQ(step(), SequenceIds{b});
  scheduler_->resume(at(a));
  EXPECT_EQ(step(), (SequenceIds{b, a}));
}

TEST_F(SchedulerTest, APausedSequenceStillExpires) {
  make(/*pages=*/40);
  const SequenceId id = add(6, 20, Instant(5));
  step();
  scheduler_->pause(at(id));
  EXPECT_EQ(scheduler_->next_deadline(), Instant(5));
  EXPECT_TRUE(scheduler_->plan_step(Instant(4)).expired.empty());
  EXPECT_EQ(scheduler_->plan_step(Instant(5)).expired, SequenceIds{id});
  EXPECT_FALSE(scheduler_->has_work());
  EXPECT_EQ(scheduler_->stats().paused, 0);
  EXPECT_EQ(scheduler_->pool(0).free_pages(), 40);
  EXPECT_EQ(scheduler_->next_deadline(), kNever);
}

TEST_F(SchedulerTest, PlansWithATokenThatNobodyKnowsYet) {
  make(8, 8, /*has_prefix_cache=*/true);
  const SequenceId id = add(kSlots - 1, 20);
  scheduler_->commit(scheduler_->plan_step(Instant(1)));
  scheduler_->guess(at(id), 3);
  const StepPlan ahead = scheduler_->plan_step(Instant(2));
  ASSERT_EQ(ahead.items.size(), 1U);
  EXPECT_TRUE(ahead.items[0].is_last);
  scheduler_->commit(ahead);
  // Its first page is full, but of what nobody can say.
  EXPECT_EQ(at(id).registered, 0);
  EXPECT_EQ(at(id).known(), kSlots - 1);
  scheduler_->resolve(at(id), 42);
  EXPECT_EQ(at(id).tokens.back(), 42);
  EXPECT_EQ(at(id).registered, kSlots);
  EXPECT_FALSE(at(id).is_guessed());
}

TEST_F(SchedulerTest, WhatWasComputedBehindAnUnknownTokenIsNotFoundAgain) {
  make(8, 8, /*has_prefix_cache=*/true);
  const SequenceId first = add(kSlots - 1, 20);
  scheduler_->commit(scheduler_->plan_step(Instant(1)));
  scheduler_->guess(at(first), 0);
  scheduler_->commit(scheduler_->plan_step(Instant(2)));
  SequenceRequest same;
  same.prompt = at(first).request.prompt;
  same.prompt.insert(same.prompt.end(), {kUnknownToken, 5, 6});
  same.max_length = 20;
  scheduler_->finish(first);
  const SequenceId second = *scheduler_->add(same);
  scheduler_->plan_step(Instant(3));
  EXPECT_EQ(at(second).reused, kSlots - 1);
}

TEST_F(SchedulerTest, ARestartComputesTheLastKnownTokenAgain) {
  make(8, 8, /*has_prefix_cache=*/true);
  const SequenceId id = add(6, 20);
  scheduler_->commit(scheduler_->plan_step(Instant(1)));
  scheduler_->guess(at(id), 0);
  scheduler_->commit(scheduler_->plan_step(Instant(2)));
  scheduler_->restart(at(id));
  EXPECT_EQ(at(id).size(), 6);
  const StepPlan again = scheduler_->plan_step(Instant(3));
  ASSERT_EQ(again.items.size(), 1U);
  EXPECT_EQ(again.items[0].tokens, 1);  // the others are found in the cache
  EXPECT_TRUE(again.items[0].is_last);
}

}  // namespace
}  // namespace ingot

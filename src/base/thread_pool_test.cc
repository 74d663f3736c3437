// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <numeric>

namespace ingot {
namespace {

TEST(ThreadPool, RunsEveryShareOncePerRun) {
  // Far more threads than cores too: then the caller takes over most shares, while late workers
  // wake up in the middle of later runs.
  for (const auto& [threads, runs] :
       {std::pair(1, 10'000), std::pair(2, 10'000), std::pair(4, 5'000), std::pair(33, 500)}) {
    ThreadPool pool(threads);
    ASSERT_EQ(pool.size(), threads);
    std::vector<int> calls(
        static_cast<size_t>(threads));  // each share has its own: a race would be seen by TSan
    for (int run = 1; run <= runs; ++run) {
      pool.run([&](int thread) { ++calls[static_cast<size_t>(thread)]; });
      for (const int count : calls)
        ASSERT_EQ(count, run);
    }
  }
}

TEST(ThreadPool, RunsTheLastShareOnTheCaller) {
  ThreadPool pool(3);
  std::vector<std::thread::id> ids(3);
  pool.run([&](int share) { ids[static_cast<size_t>(share)] = std::this_thread::get_id(); });
  EXPECT_EQ(ids[2], std::this_thread::get_id());
}

TEST(ThreadPool, RunsSharesAtTheSameTime) {
  ThreadPool pool(2);
  std::atomic<int> started = 0;
  pool.run([&](int) {
    ++started;
    // The caller is inside its own share until the worker is inside the other.
    while (started < 2)
      std::this_thread::yield();
  });
  EXPECT_EQ(started, 2);
}

TEST(ThreadPool, WakesWorkersThatHaveGoneToSleep) {
  ThreadPool pool(3);
  std::atomic<int> calls = 0;
  for (int run = 1; run <= 20; ++run) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // ten times the spin time
    pool.run([&](int) { ++calls; });
    ASSERT_EQ(calls, 3 * run);
  }
}

TEST(ThreadPool, WaitsForWorkersThatAreSlow) {
  ThreadPool pool(2);
  bool is_done = false;
  pool.run([&](int thread) {
    if (thread != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    is_done = true;
  });
  EXPECT_TRUE(is_done);
}

TEST(ThreadPool, MakesResultsVisibleToTheCaller) {
  ThreadPool pool(4);
  std::vector<int64_t> values(1000, 1);
  std::vector<int64_t> sums(4);
  for (int run = 0; run < 300; ++run) {
    pool.run([&](int thread) {
      const auto first = static_cast<size_t>(thread) * 250;
      for (size_t i = first; i < first + 250; ++i)
        values[i] += run % 3;
    });
    pool.run([&](int thread) {  // reads what other threads wrote in the run before
      const auto first = values.begin() + ptrdiff_t{250} * (3 - thread);
      sums[static_cast<size_t>(thread)] = std::accumulate(first, first + 250, int64_t{0});
    });
    ASSERT_EQ(std::accumulate(sums.begin(), sums.end(), int64_t{0}),
              std::accumulate(values.begin(), values.end(), int64_t{0}));
  }
}

TEST(ThreadPool, RunsAsManySharesAsAStepAsksFor) {
  ThreadPool pool(5);
  std::vector<int> calls(5);
  const auto count = [&](int share) { ++calls[static_cast<size_t>(share)]; };
  for (int run = 1; run <= 2000; ++run) {
    for (const int threads : {5, 2, 1, 3}) {  // late workers meet runs that they have no part in
      const ThreadPool::Step step(pool, threads);
      ASSERT_EQ(pool.active(), threads);
      pool.run(count);
    }
    ASSERT_EQ(calls, (std::vector<int>{run * 4, run * 3, run * 2, run, run}));
  }
}

TEST(ThreadPool, HasThreadsForTheLargerKindOfStep) {
  const ThreadPool more(ThreadOptions{.threads = 2, .threads_batch = 3});
  EXPECT_EQ(more.size(), 3);
  EXPECT_EQ(more.options().threads, 2);
  const ThreadPool fewer(ThreadOptions{.threads = 4, .threads_batch = 1});
  EXPECT_EQ(fewer.size(), 4);
  EXPECT_EQ(fewer.options().threads_batch, 1);
  EXPECT_EQ(ThreadPool(ThreadOptions{.threads = 3}).options().threads_batch, 3);
}

TEST(ThreadPool, BindsNoThreadsToNodesWhenToldNotTo) {
  const ThreadPool pool(ThreadOptions{.threads = 2, .numa = NumaMode::kOff});
  EXPECT_EQ(pool.node_of(0), -1);
  EXPECT_EQ(pool.node_of(1), -1);
}

TEST(ThreadPool, RunsFewerSharesThanThreads) {
  ThreadPool pool(4);
  const ThreadPool::Step step(pool, 4);
  std::vector<int> calls(4);
  for (int run = 0; run < 1000; ++run) {
    for (int shares = 1; shares <= 4; ++shares)
      pool.run(shares, [&](int share) { ++calls[static_cast<size_t>(share)]; });
  }
  EXPECT_EQ(calls, (std::vector<int>{4000, 3000, 2000, 1000}));
}

double process_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST(ThreadPool, SleepsOutsideAStep) {
  ThreadPool pool(4);
  {
    const ThreadPool::Step step(pool, 3);
    pool.run([](int) {});
  }
  const double before = process_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(process_seconds() - before, 0.1);  // three spinning workers would take 0.4 or more
}

TEST(ThreadPool, LetsThreadsSleepThatAStepDoesNotUse) {
  ThreadPool pool(4);
  pool.run([](int) {});
  const ThreadPool::Step step(pool, 1);
  const double before = process_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(process_seconds() - before, 0.1);
}

TEST(ThreadPool, StartsAndStopsQuickly) {
  for (int i = 0; i < 200; ++i) {
    ThreadPool pool(4);
    if (i % 2 == 0) pool.run([](int) {});
  }
  EXPECT_GE(ThreadPool(0).size(), 1);
}

}  // namespace
}  // namespace ingot

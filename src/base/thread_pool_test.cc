// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
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

TEST(ThreadPool, StartsAndStopsQuickly) {
  for (int i = 0; i < 200; ++i) {
    ThreadPool pool(4);
    if (i % 2 == 0) pool.run([](int) {});
  }
  EXPECT_GE(ThreadPool(0).size(), 1);
}

}  // namespace
}  // namespace ingot

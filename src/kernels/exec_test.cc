// SPDX-License-Identifier: Apache-2.0
#include "kernels/exec.h"

#include <gtest/gtest.h>

#include <vector>

namespace ingot {
namespace {

TEST(Exec, CoversEveryIndexOnceHoweverItIsCut) {
  for (const int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    const Exec exec(pool);
    for (const int64_t count : {0, 1, 15, 16, 17, 100, 4096}) {
      for (const int64_t grain : {1, 16}) {
        std::vector<int> by_range(static_cast<size_t>(count));
        std::vector<int> by_chunk(static_cast<size_t>(count));
        const auto mark = [grain](std::vector<int>& seen) {
          return [&seen, grain](int64_t begin, int64_t end) {
            EXPECT_EQ(begin % grain, 0);
            for (int64_t i = begin; i < end; ++i)
              ++seen[static_cast<size_t>(i)];
          };
        };
        exec.for_ranges(count, grain, mark(by_range));
        exec.for_chunks(count, grain, mark(by_chunk));
        EXPECT_EQ(by_range, std::vector<int>(by_range.size(), 1));
        EXPECT_EQ(by_chunk, std::vector<int>(by_chunk.size(), 1));
      }
    }
  }
}

TEST(Exec, TakesTheThreadsOfAStepsKind) {
  ThreadPool pool(ThreadOptions{.threads = 2, .threads_batch = 3});
  const Exec exec(pool);
  {
    const ThreadPool::Step step = exec.begin_step(true);
    EXPECT_EQ(exec.threads(), 3);
  }
  const ThreadPool::Step step = exec.begin_step(false);
  EXPECT_EQ(exec.threads(), 2);
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "base/chunk_queue.h"

#include <gtest/gtest.h>

#include <thread>

namespace ingot {
namespace {

TEST(ChunkQueue, DealsOutEveryUnitOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ChunkQueue queue(8);
    for (const int64_t units : {0, 1, 2, 7, 64, 1000}) {
      queue.reset(units, threads);
      std::vector<std::atomic<int>> taken(static_cast<size_t>(units));
      {
        std::vector<std::jthread> workers;
        for (int thread = 0; thread < threads; ++thread) {
          workers.emplace_back([&, thread] {
            for (Chunk chunk = queue.take(thread); !chunk.is_empty(); chunk = queue.take(thread)) {
              for (int64_t i = chunk.begin; i < chunk.end; ++i)
                ++taken[static_cast<size_t>(i)];
            }
          });
        }
      }
      for (const std::atomic<int>& times : taken)
        ASSERT_EQ(times, 1) << threads << " threads, " << units << " units";
    }
  }
}

TEST(ChunkQueue, GivesEachThreadItsOwnSpanFirstAndInOrder) {
  ChunkQueue queue(4);
  queue.reset(400, 4);
  for (int thread = 0; thread < 4; ++thread) {
    int64_t next = 100 * thread;
    while (next < 100 * (thread + 1)) {
      const Chunk chunk = queue.take(thread);
      ASSERT_EQ(chunk.begin, next);
      ASSERT_FALSE(chunk.is_empty());
      next = chunk.end;
    }
    ASSERT_EQ(next, 100 * (thread + 1));
  }
  EXPECT_TRUE(queue.take(0).is_empty());
}

TEST(ChunkQueue, TakesFromWhoHasMostLeft) {
  ChunkQueue queue(3);
  queue.reset(300, 3);
  int64_t done_by_first = 0;
  while (done_by_first < 100) {
    const Chunk chunk = queue.take(0);
    done_by_first += chunk.end - chunk.begin;
  }
  queue.take(1);
  const Chunk stolen = queue.take(0);  // the third has begun nothing
  EXPECT_EQ(stolen.begin, 200);
}

TEST(ChunkQueue, MakesChunksSmallerTowardsTheEnd) {
  ChunkQueue queue(1);
  queue.reset(64, 1);
  int64_t last = 64;
  int calls = 0;
  for (Chunk chunk = queue.take(0); !chunk.is_empty(); chunk = queue.take(0), ++calls) {
    EXPECT_LE(chunk.end - chunk.begin, last);
    last = chunk.end - chunk.begin;
  }
  EXPECT_EQ(last, 1);
  EXPECT_LE(calls, 16);
}

}  // namespace
}  // namespace ingot

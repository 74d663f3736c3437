// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/models/merge_queue.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <tuple>

namespace ingot::tok {
namespace {

// Pushes and pops at random; the order must be that of a sorted set, whatever comes when.
void expect_sorted_order(size_t rank_count, size_t symbol_count, bool goes_back) {
  std::mt19937_64 engine(7);
  MergeQueue queue(rank_count, symbol_count);
  std::multiset<std::tuple<uint32_t, uint32_t>> truth;
  uint32_t least_rank = 0;
  for (int i = 0; i < 20000; ++i) {
    if (truth.empty() || engine() % 5 < 3) {
      const size_t first = goes_back ? 0 : least_rank;
      const auto rank = static_cast<uint32_t>(first + engine() % (rank_count - first));
      const auto position = static_cast<uint32_t>(engine() % symbol_count);
      queue.push({rank, position, rank + position});
      truth.emplace(rank, position);
    } else {
      const auto popped = queue.pop();
      ASSERT_TRUE(popped);
      ASSERT_EQ(std::make_tuple(popped->rank, popped->position), *truth.begin());
      ASSERT_EQ(popped->detail, popped->rank + popped->position);
      least_rank = popped->rank;
      truth.erase(truth.begin());
    }
  }
  while (!truth.empty()) {
    const auto popped = queue.pop();
    ASSERT_TRUE(popped);
    ASSERT_EQ(std::make_tuple(popped->rank, popped->position), *truth.begin());
    truth.erase(truth.begin());
  }
  EXPECT_FALSE(queue.pop());
}

TEST(MergeQueue, TakesLowRanksFirstAndLeftmostAmongEquals) {
  for (const bool goes_back : {false, true}) {
    expect_sorted_order(/*rank_count=*/5, /*symbol_count=*/100, goes_back);
    expect_sorted_order(/*rank_count=*/5, /*symbol_count=*/100'000, goes_back);
    expect_sorted_order(/*rank_count=*/3000, /*symbol_count=*/100'000, goes_back);
  }
}

TEST(MergeQueue, IsEmptyAtFirst) {
  EXPECT_FALSE(MergeQueue(0, 0).pop());
  EXPECT_FALSE(MergeQueue(10, 100'000).pop());
}

}  // namespace
}  // namespace ingot::tok

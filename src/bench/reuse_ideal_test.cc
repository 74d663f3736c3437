// SPDX-License-Identifier: Apache-2.0
#include "bench/reuse_ideal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace ingot {
namespace {

using Ids = std::vector<TokenId>;

TEST(ReuseIdeal, CountsWhatWasComputedAndNoMore) {
  ReuseIdeal ideal;
  const Ids first = {1, 2, 3, 4, 5};
  EXPECT_EQ(ideal.reusable(first), 0);
  ReuseIdeal::Cursor cursor;
  ideal.remember(first, 3, cursor);
  EXPECT_EQ(ideal.reusable(first), 3);
  ideal.remember(first, 5, cursor);
  EXPECT_EQ(ideal.reusable(Ids{1, 2, 3, 4, 5, 6}), 5);
  EXPECT_EQ(ideal.reusable(Ids{1, 2, 9, 4, 5}), 2);
  EXPECT_EQ(ideal.reusable(Ids{2, 3, 4}), 0);
}

TEST(ReuseIdeal, LeavesTheLastTokenToCompute) {
  ReuseIdeal ideal;
  ReuseIdeal::Cursor cursor;
  ideal.remember(Ids{7, 8, 9}, 3, cursor);
  EXPECT_EQ(ideal.reusable(Ids{7, 8, 9}), 2);
  EXPECT_EQ(ideal.reusable(Ids{7}), 0);
  EXPECT_EQ(ideal.reusable(Ids{}), 0);
}

TEST(ReuseIdeal, AgreesWithTheLongestCommonPrefixOfRandomSequences) {
  std::mt19937 random(3);
  const auto draw = [&] {
    Ids ids(random() % 12);
    for (TokenId& id : ids)
      id = static_cast<TokenId>(random() % 2);
    return ids;
  };
  for (int trial = 0; trial < 50; ++trial) {
    ReuseIdeal ideal;
    std::vector<Ids> seen;
    for (int i = 0; i < 20; ++i) {
      const Ids ids = draw();
      int64_t expected = 0;
      for (const Ids& other : seen)
        expected = std::max<int64_t>(expected, std::ranges::mismatch(ids, other).in1 - ids.begin());
      expected = std::min(expected, std::max<int64_t>(static_cast<int64_t>(ids.size()) - 1, 0));
      ASSERT_EQ(ideal.reusable(ids), expected);
      ReuseIdeal::Cursor cursor;
      ideal.remember(ids, ids.size(), cursor);
      seen.push_back(ids);
    }
  }
}

}  // namespace
}  // namespace ingot

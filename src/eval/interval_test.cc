// SPDX-License-Identifier: Apache-2.0
#include "eval/interval.h"

#include <gtest/gtest.h>

#include <vector>

namespace ingot {
namespace {

TEST(WilsonInterval, AgreesWithTheTextbook) {
  // 8 of 10: 0.490 to 0.943 (Wilson 1927, z = 1.96).
  const Interval interval = wilson_interval(8, 10);
  EXPECT_NEAR(interval.lower, 0.4902, 1e-4);
  EXPECT_NEAR(interval.upper, 0.9433, 1e-4);
}

TEST(WilsonInterval, StaysInsideAtTheEnds) {
  EXPECT_EQ(wilson_interval(0, 5).lower, 0);
  EXPECT_LT(wilson_interval(0, 5).upper, 0.5);
  EXPECT_EQ(wilson_interval(5, 5).upper, 1);
  EXPECT_GT(wilson_interval(5, 5).lower, 0.5);
  EXPECT_EQ(wilson_interval(0, 0).upper, 1);
}

TEST(BootstrapInterval, HoldsTheRatioAndShrinksWithItems) {
  std::vector<Weighted> few;
  std::vector<Weighted> many;
  for (int i = 0; i < 2000; ++i) {
    const Weighted item{static_cast<double>(i % 5) / 4, 1};
    if (i < 20) few.push_back(item);
    many.push_back(item);
  }
  const Interval wide = bootstrap_interval(few);
  const Interval narrow = bootstrap_interval(many);
  EXPECT_LT(wide.lower, 0.5);
  EXPECT_GT(wide.upper, 0.5);
  EXPECT_LT(narrow.upper - narrow.lower, (wide.upper - wide.lower) / 5);
  const Interval same = bootstrap_interval(many);
  EXPECT_EQ(same.lower, narrow.lower) << "the seed is fixed";
}

TEST(BootstrapInterval, WeighsItems) {
  const std::vector<Weighted> items(10, Weighted{3, 6});
  EXPECT_DOUBLE_EQ(bootstrap_interval(items).lower, 0.5);
  EXPECT_DOUBLE_EQ(bootstrap_interval(items).upper, 0.5);
}

}  // namespace
}  // namespace ingot

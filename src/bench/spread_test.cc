// SPDX-License-Identifier: Apache-2.0
#include "bench/spread.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(Percentile, InterpolatesBetweenNeighbours) {
  const std::vector<double> values = {10, 20, 30, 40};
  EXPECT_DOUBLE_EQ(percentile(values, 0), 10);
  EXPECT_DOUBLE_EQ(percentile(values, 1), 40);
  EXPECT_DOUBLE_EQ(percentile(values, 0.5), 25);
  EXPECT_DOUBLE_EQ(percentile(values, 0.9), 37);
  EXPECT_DOUBLE_EQ(percentile({7}, 0.99), 7);
  EXPECT_DOUBLE_EQ(percentile({}, 0.5), 0);
}

TEST(Spread, IsThatOfTheValuesInAnyOrder) {
  const Spread spread = spread_of({4, 2, 9, 5, 4, 4, 7, 5});
  EXPECT_DOUBLE_EQ(spread.mean, 5);
  EXPECT_NEAR(spread.deviation, 2.138089935, 1e-9);  // sqrt(32 / 7)
  EXPECT_DOUBLE_EQ(spread.p50, 4.5);
  EXPECT_DOUBLE_EQ(spread.smallest, 2);
  EXPECT_DOUBLE_EQ(spread.largest, 9);
}

TEST(Spread, OfOneValueHasNoDeviationAndOfNoneIsZero) {
  EXPECT_DOUBLE_EQ(spread_of({3}).deviation, 0);
  EXPECT_DOUBLE_EQ(spread_of({3}).p99, 3);
  EXPECT_DOUBLE_EQ(spread_of({}).mean, 0);
}

}  // namespace
}  // namespace ingot

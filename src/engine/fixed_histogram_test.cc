// SPDX-License-Identifier: Apache-2.0
#include "engine/fixed_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ingot {
namespace {

TEST(FixedHistogram, CountsAValueInTheFirstBucketThatHoldsIt) {
  FixedHistogram histogram{.bounds = kStepTokenBounds};
  for (const double value : {1.0, 2.0, 8.0, 9.0, 16384.0, 16385.0})
    histogram.add(value);
  EXPECT_EQ(histogram.counts[0], 1);
  EXPECT_EQ(histogram.counts[1], 2);
  EXPECT_EQ(histogram.counts[2], 1);
  EXPECT_EQ(histogram.counts[12], 1);
  EXPECT_EQ(histogram.counts[13], 1);  // above all bounds
  EXPECT_EQ(histogram.count, 6);
  EXPECT_EQ(histogram.sum, 32789);
}

TEST(FixedHistogram, BoundsAscend) {
  EXPECT_TRUE(std::ranges::is_sorted(kStepTokenBounds));
  EXPECT_TRUE(std::ranges::is_sorted(kStepSecondBounds));
}

}  // namespace
}  // namespace ingot

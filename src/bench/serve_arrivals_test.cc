// SPDX-License-Identifier: Apache-2.0
#include "bench/serve_arrivals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bench/spread.h"

namespace ingot {
namespace {

Spread gaps_of(double rate, double burstiness) {
  const std::vector<double> times =
      arrival_times({.rate = rate, .burstiness = burstiness, .seed = 1}, 20'001);
  EXPECT_TRUE(std::ranges::is_sorted(times));
  std::vector<double> gaps;
  for (size_t i = 1; i < times.size(); ++i)
    gaps.push_back(times[i] - times[i - 1]);
  return spread_of(gaps);
}

TEST(ServeArrivals, HaveTheRateAndTheRandomnessAsked) {
  for (const double burstiness : {0.25, 1.0, 4.0}) {
    const Spread gaps = gaps_of(8, burstiness);
    // The mean of n gaps has the error deviation / sqrt(n); five of those is never.
    EXPECT_NEAR(gaps.mean, 0.125, 5 * gaps.deviation / std::sqrt(20'000.0));
    EXPECT_NEAR(gaps.deviation / gaps.mean, 1 / std::sqrt(burstiness), 0.1);
  }
  // Poisson: a gap is longer than its mean with the chance 1/e.
  EXPECT_NEAR(gaps_of(8, 1).p50, std::log(2.0) / 8, 0.005);
}

TEST(ServeArrivals, AreAPureFunctionOfTheSeed) {
  const ArrivalOptions options{.rate = 3, .burstiness = 1, .seed = 5};
  EXPECT_EQ(arrival_times(options, 50), arrival_times(options, 50));
  EXPECT_NE(arrival_times(options, 50), arrival_times({.rate = 3, .burstiness = 1, .seed = 6}, 50));
  EXPECT_EQ(arrival_times(options, 50)[0], 0);
}

TEST(ServeArrivals, ComeAllAtOnceWithoutARate) {
  EXPECT_EQ(arrival_times({}, 3), (std::vector<double>{0, 0, 0}));
  EXPECT_TRUE(arrival_times({.rate = 2}, 0).empty());
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// How far a score could be off by the luck of which items were asked: intervals of 95 %.
#pragma once

#include <cstdint>
#include <span>

namespace ingot {

struct Interval {
  double lower = 0;
  double upper = 0;
};

// Of a share: Wilson's, which stays inside [0, 1] and is right for few items too.
Interval wilson_interval(double right, double count);

// What one item brings to a ratio of sums: a mean of values has the weight 1 everywhere.
struct Weighted {
  double value = 0;
  double weight = 1;
};
// The percentile bootstrap of sum(value) / sum(weight) over items, with a fixed seed.
Interval bootstrap_interval(std::span<const Weighted> items, int resamples = 1000);

}  // namespace ingot

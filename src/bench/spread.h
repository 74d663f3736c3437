// SPDX-License-Identifier: Apache-2.0
// Many measurements in few numbers.
#pragma once

#include <vector>

namespace ingot {

// The value below which `fraction` of the sorted values lie, interpolated between neighbours (as
// numpy's default does). 0 of nothing.
double percentile(const std::vector<double>& sorted, double fraction);

struct Spread {
  double mean = 0;
  double deviation = 0;  // of single values, n - 1 in the denominator
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double smallest = 0;
  double largest = 0;
};
Spread spread_of(std::vector<double> values);

}  // namespace ingot

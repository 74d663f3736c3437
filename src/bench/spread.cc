// SPDX-License-Identifier: Apache-2.0
#include "bench/spread.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace ingot {

double percentile(const std::vector<double>& sorted, double fraction) {
  if (sorted.empty()) return 0;
  const double place = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto count = static_cast<double>(values.size());
  Spread spread;
  spread.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values)
    squares += (value - spread.mean) * (value - spread.mean);
  if (values.size() > 1) spread.deviation = std::sqrt(squares / (count - 1));
  spread.p50 = percentile(values, 0.5);
  spread.p90 = percentile(values, 0.9);
  spread.p99 = percentile(values, 0.99);
  spread.smallest = values.front();
  spread.largest = values.back();
  return spread;
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "eval/interval.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "eval/kl_divergence.h"

namespace ingot {

Interval wilson_interval(double right, double count) {
  if (count <= 0) return {0, 1};
  constexpr double kZ = 1.959963984540054;
  const double share = right / count;
  const double scale = 1 + kZ * kZ / count;
  const double center = (share + kZ * kZ / (2 * count)) / scale;
  const double half =
      kZ / scale * std::sqrt(share * (1 - share) / count + kZ * kZ / (4 * count * count));
  return {std::max(0.0, center - half), std::min(1.0, center + half)};
}

Interval bootstrap_interval(std::span<const Weighted> items, int resamples) {
  if (items.empty()) return {0, 0};
  std::mt19937_64 random(20240607);
  std::vector<float> ratios;
  for (int i = 0; i < resamples; ++i) {
    double value = 0;
    double weight = 0;
    for (size_t j = 0; j < items.size(); ++j) {
      const Weighted& item = items[random() % items.size()];
      value += item.value;
      weight += item.weight;
    }
    ratios.push_back(weight > 0 ? static_cast<float>(value / weight) : 0.0F);
  }
  return {quantile(ratios, 0.025), quantile(ratios, 0.975)};
}

}  // namespace ingot

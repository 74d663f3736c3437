// SPDX-License-Identifier: Apache-2.0
#include "bench/serve_arrivals.h"

#include <random>

namespace ingot {

std::vector<double> arrival_times(const ArrivalOptions& options, int64_t count) {
  std::vector<double> times(static_cast<size_t>(count), 0.0);
  if (options.rate <= 0) return times;
  // Gaps of mean 1 / rate whose coefficient of variation is 1 / sqrt(burstiness).
  std::mt19937_64 random(options.seed);
  std::gamma_distribution<double> gap(options.burstiness, 1 / (options.rate * options.burstiness));
  for (size_t i = 1; i < times.size(); ++i)
    times[i] = times[i - 1] + gap(random);
  return times;
}

}  // namespace ingot

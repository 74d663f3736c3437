// SPDX-License-Identifier: Apache-2.0
// When requests arrive: all at once, or at a mean rate with gaps as random as asked for.
#pragma once

#include <cstdint>
#include <vector>

namespace ingot {

struct ArrivalOptions {
  double rate = 0;        // requests a second; 0: all at once
  double burstiness = 1;  // 1: Poisson; below: in bursts; above: more even (gamma's shape)
  uint64_t seed = 0;
};

// Seconds since the start, ascending; the first is 0. A pure function of its arguments.
std::vector<double> arrival_times(const ArrivalOptions& options, int64_t count);

}  // namespace ingot

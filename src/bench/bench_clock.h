// SPDX-License-Identifier: Apache-2.0
// The one clock of all measurements.
#pragma once

#include <chrono>

namespace ingot {

using BenchClock = std::chrono::steady_clock;

inline double seconds_between(BenchClock::time_point begin, BenchClock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// The largest magnitude of a group: what its scale has to reach.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace ingot {

inline float largest(std::span<const float> values) {
  float most = 0;
  for (const float value : values)
    most = std::max(most, std::fabs(value));
  return most;
}

}  // namespace ingot

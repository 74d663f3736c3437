// SPDX-License-Identifier: Apache-2.0
// Counter-based randomness: a number is a pure function of (seed, counter), so that what is drawn
// for a position never depends on what was drawn before or elsewhere.
#pragma once

#include <cstdint>

namespace ingot {

// SplitMix64's finalizer over a seed-dependent stream.
inline uint64_t random_bits(uint64_t seed, uint64_t counter) {
  uint64_t z =
      seed * 0xD1342543DE82EF95ULL + counter * 0x9E3779B97F4A7C15ULL + 0x9E3779B97F4A7C15ULL;
  for (int i = 0; i < 2; ++i) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    z ^= z >> 31;
  }
  return z;
}

// In [0, 1), 53 bits.
inline double uniform(uint64_t seed, uint64_t counter) {
  return static_cast<double>(random_bits(seed, counter) >> 11) * 0x1p-53;
}

}  // namespace ingot

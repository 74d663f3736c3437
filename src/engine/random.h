// SPDX-License-Identifier: Apache-2.0
// Counter-based randomness: a number is a pure function of (seed, choice, position, purpose), so
// that what is drawn for a position never depends on what was drawn before or elsewhere.
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

// What a number is for: draws for different purposes at one position are independent.
enum class RandomUse : uint8_t { kDraw, kXtc };

// The seed of one choice (of n > 1 answers to a prompt) and one purpose.
inline uint64_t stream_seed(uint64_t seed, uint32_t choice, RandomUse use) {
  const uint64_t stream = (static_cast<uint64_t>(choice) << 8) | static_cast<uint64_t>(use);
  return stream == 0 ? seed : random_bits(seed ^ 0xA5A5F00DC0FFEE11ULL, stream);
}

}  // namespace ingot

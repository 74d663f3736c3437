// SPDX-License-Identifier: Apache-2.0
// How often a value fell into which of a few fixed ranges since the start: what /metrics tells of
// every step. Plain data, cheap to copy.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ingot {

// Single thread.
struct FixedHistogram {
  static constexpr size_t kMostBounds = 24;

  std::span<const double> bounds;                 // ascending; of static storage
  std::array<int64_t, kMostBounds + 1> counts{};  // [bounds.size() + 1]: at most that bound, and
                                                  // above the one before; the last above all
  double sum = 0;
  int64_t count = 0;

  void add(double value) {
    size_t bucket = 0;
    while (bucket < bounds.size() && value > bounds[bucket])
      ++bucket;
    ++counts[bucket];
    sum += value;
    ++count;
  }
};

// vLLM's for tokens of a step.
inline constexpr std::array<double, 13> kStepTokenBounds = {1,   8,    16,   32,   64,   128,  256,
                                                            512, 1024, 2048, 4096, 8192, 16384};
inline constexpr std::array<double, 15> kStepSecondBounds = {
    .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60};
static_assert(kStepTokenBounds.size() <= FixedHistogram::kMostBounds);
static_assert(kStepSecondBounds.size() <= FixedHistogram::kMostBounds);

}  // namespace ingot

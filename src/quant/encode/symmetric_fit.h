// SPDX-License-Identifier: Apache-2.0
// x = scale * level, with levels from a fixed grid around zero: the scale with the least weighted
// squared error. For given levels the best scale is a quotient of two sums, and the error it leaves
// falls as sum(w x level)^2 / sum(w level^2) grows; so the search walks over guesses of the scale,
// takes the levels each implies, and then follows the best (new scale, new levels) a few rounds.
#pragma once

#include "quant/encode/lanes.h"

namespace ingot::quant::INGOT_TARGET {

// All integers of a range. A grid maps a value to its nearest level, as a float.
struct IntegerGrid {
  float low;
  float high;
  inline Lanes operator()(Lanes v) const { return nearest(v, low, high); }
};

struct SymmetricFit {
  Lanes scale;
  Lanes gain;  // the part of sum(w x^2) that the levels explain
};

// The element of largest magnitude, with its sign.
template <size_t kSize>
inline Lanes extreme(const Lanes (&x)[kSize]) {
  Lanes found{};
  Lanes size{};
  for (const Lanes& v : x) {
    const Lanes a = magnitude(v);
    found = a > size ? v : found;
    size = a > size ? a : size;
  }
  return found;
}

template <bool kIsWeighted, size_t kSize, class Grid>
inline void try_scale(const Lanes (&x)[kSize], const Lanes (&w)[kSize], Lanes inverse,
                      const Grid& grid, SymmetricFit& best) {
  Lanes sum_xl{};
  Lanes sum_ll{};
  for (size_t i = 0; i < kSize; ++i) {
    const Lanes level = grid(x[i] * inverse);
    const Lanes weighted = kIsWeighted ? w[i] * level : level;
    sum_xl += weighted * x[i];
    sum_ll += weighted * level;
  }
  const Lanes scale = sum_xl / sum_ll;
  const Lanes gain = scale * sum_xl;
  const auto is_better = gain > best.gain;  // false for 0 / 0
  best.scale = is_better ? scale : best.scale;
  best.gain = is_better ? gain : best.gain;
}

// Tries the scales that put the extreme element on each of `targets` (as levels), then refines.
// Equal weights are not multiplied with.
template <bool kIsWeighted, size_t kSize, class Grid, size_t kTargets>
inline SymmetricFit fit_symmetric(const Lanes (&x)[kSize], const Lanes (&w)[kSize],
                                  const Grid& grid, const float (&targets)[kTargets], int rounds) {
  const Lanes peak = extreme(x);
  const Lanes inverse_peak = inverse_or_zero(peak);
  SymmetricFit best{peak / targets[0], Lanes{}};
  for (const float target : targets)
    try_scale<kIsWeighted>(x, w, inverse_peak * target, grid, best);
  for (int i = 0; i < rounds; ++i)
    try_scale<kIsWeighted>(x, w, inverse_or_zero(best.scale), grid, best);
  return best;
}

}  // namespace ingot::quant::INGOT_TARGET

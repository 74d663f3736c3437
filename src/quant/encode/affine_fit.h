// SPDX-License-Identifier: Apache-2.0
// x = scale * code + min with integer codes in [0, top]: the line with the least weighted squared
// error. For given codes the best line is the least-squares one; the search walks over guesses of
// the scale, takes the codes each implies, and then follows the best line a few rounds.
#pragma once

#include "quant/encode/lanes.h"

namespace ingot::quant::INGOT_TARGET {

struct AffineFit {
  Lanes scale;  // never negative
  Lanes min;
  Lanes gain;
};

// The elements measured from the lowest, which keeps sums of squares from cancelling, and what does
// not change between guesses. highest_min: the K blocks store the min as a magnitude below zero.
template <size_t kSize>
struct AffineProblem {
  Lanes y[kSize];
  Lanes origin;
  Lanes range;
  Lanes sum_w;
  Lanes sum_y;
  Lanes highest_min;  // of the line through y

  inline void prepare(const Lanes (&x)[kSize], const Lanes (&w)[kSize], bool min_is_negative) {
    Lanes low = x[0];
    Lanes high = x[0];
    for (size_t i = 1; i < kSize; ++i) {
      low = lower_of(x[i], low);
      high = higher_of(x[i], high);
    }
    if (min_is_negative) low = lower_of(low, Lanes{});
    origin = low;
    range = high - low;
    highest_min = min_is_negative ? -low : broadcast(0x1p100F);
    sum_w = Lanes{};
    sum_y = Lanes{};
    for (size_t i = 0; i < kSize; ++i) {
      y[i] = x[i] - low;
      sum_w += w[i];
      sum_y += w[i] * y[i];
    }
  }
};

template <bool kIsWeighted, size_t kSize>
inline void try_line(const AffineProblem<kSize>& problem, const Lanes (&w)[kSize], Lanes inverse,
                     Lanes min, float top, AffineFit& best) {
  const Lanes shift = -min * inverse;
  Lanes sum_l{};
  Lanes sum_ll{};
  Lanes sum_yl{};
  for (size_t i = 0; i < kSize; ++i) {
    const Lanes code = nearest(problem.y[i] * inverse + shift, 0.0F, top);
    const Lanes weighted = kIsWeighted ? w[i] * code : code;
    sum_l += weighted;
    sum_ll += weighted * code;
    sum_yl += weighted * problem.y[i];
  }
  const Lanes determinant = problem.sum_w * sum_ll - sum_l * sum_l;
  Lanes line_min = (sum_ll * problem.sum_y - sum_l * sum_yl) / determinant;
  // Rounding noise would cost values that lie on a grid their exact min.
  line_min = magnitude(line_min) < 4e-5F * problem.range ? Lanes{} : line_min;
  line_min = lower_of(line_min, problem.highest_min);
  const Lanes scale = (sum_yl - line_min * sum_l) / sum_ll;
  // sum(w y^2) less the error of this line.
  const Lanes gain = scale * (2.0F * (sum_yl - line_min * sum_l) - scale * sum_ll) +
                     line_min * (2.0F * problem.sum_y - line_min * problem.sum_w);
  const auto is_better = (determinant > 0.0F) & (scale > 0.0F) & (gain > best.gain);
  best.scale = is_better ? scale : best.scale;
  best.min = is_better ? line_min : best.min;
  best.gain = is_better ? gain : best.gain;
}

// Tries the scales that stretch the range over each of `targets` codes, then refines.
template <bool kIsWeighted, size_t kSize, size_t kTargets>
inline AffineFit fit_affine(const Lanes (&x)[kSize], const Lanes (&w)[kSize], float top,
                            bool min_is_negative, const float (&targets)[kTargets], int rounds) {
  AffineProblem<kSize> problem;
  problem.prepare(x, w, min_is_negative);
  const Lanes inverse_range = inverse_or_zero(problem.range);
  AffineFit best{problem.range / top, Lanes{}, Lanes{}};
  for (const float target : targets)
    try_line<kIsWeighted>(problem, w, inverse_range * target, Lanes{}, top, best);
  for (int i = 0; i < rounds; ++i)
    try_line<kIsWeighted>(problem, w, inverse_or_zero(best.scale), best.min, top, best);
  best.min += problem.origin;
  return best;
}

}  // namespace ingot::quant::INGOT_TARGET

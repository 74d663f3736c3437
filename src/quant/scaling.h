// SPDX-License-Identifier: Apache-2.0
// Scales that move difficulty between a linear layer's inputs and its weights: x / s and W * s give
// the same product. AWQ enlarges the columns that matter, so that rounding hurts them less;
// SmoothQuant shrinks the inputs that stand out, so that 8 bits do for them. Whoever asks folds 1 /
// s into what makes the inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "kernels/exec.h"
#include "kernels/target.h"
#include "quant/affine.h"

namespace ingot {

// The weights of one input, and what is known of it.
struct ScaleProblem {
  int64_t cols = 0;
  std::vector<std::span<const float>> weights;  // each [rows][cols]
  std::span<const float> hessian;               // [cols][cols]
  std::span<const float> magnitudes;            // mean of |x|, per column
  std::span<const float> largest;               // of |x|, per column
  std::span<const float> inputs;                // some rows of x, for SmoothQuant
};
// Makes scales what can be folded: equal where columns share one, exact where they are stored.
using ConstrainScales = std::function<void(std::vector<float>& scales)>;

struct ScaleChoice {
  std::vector<float> scales;  // [cols]
  double loss = 0;            // of the sampled rows' outputs, with these scales
  double plain_loss = 0;      // without
};
// Tries s = magnitude^alpha, and that over the columns' share of their groups' ranges to the power
// of 1 - alpha, for twenty alphas each, and keeps the best; never worse than none.
Result<ScaleChoice> search_awq_scales(const ScaleProblem& problem, const AffineOptions& options,
                                      const ConstrainScales& constrain, const Exec& exec,
                                      TargetSet targets);
// Tries s = max|x|^alpha / max|w|^(1 - alpha), with weights in bytes by row and inputs by token.
Result<ScaleChoice> search_smooth_scales(const ScaleProblem& problem,
                                         const ConstrainScales& constrain, const Exec& exec,
                                         TargetSet targets);

// W * s, in place.
void scale_columns(std::span<float> weights, std::span<const float> scales);

}  // namespace ingot

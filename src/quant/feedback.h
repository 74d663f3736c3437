// SPDX-License-Identifier: Apache-2.0
// H = R D R^T with R unit upper triangular: what GPTQ needs of a Hessian. By it the loss of a row's
// errors e is a sum of squares, sum_k D_k (e_k + sum_{j<k} e_j R_jk)^2: columns quantized from left
// to right see the errors of those before them through R, and D_k says what each one's error costs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "kernels/exec.h"
#include "kernels/target.h"

namespace ingot {

struct Feedback {
  int64_t cols = 0;
  std::vector<float> r;        // [cols][cols]; what is above the diagonal counts
  std::vector<float> d;        // [cols]
  std::vector<int32_t> order;  // column k of R is column order[k] of H; empty: its own order
};

struct FeedbackOptions {
  double damping = 0.01;        // of the mean of H's diagonal, added to it
  bool orders_columns = false;  // those with the largest diagonal first (act-order)
  double shrinkage = 0;         // of each diagonal element itself, added to it
};

// `hessian` [cols][cols], symmetric. Columns that are never used cost nothing and change nothing.
// Fails where H is no Hessian (NaN, infinite), not where it is singular.
Result<Feedback> factor_hessian(std::vector<float> hessian, int64_t cols,
                                const FeedbackOptions& options, const Exec& exec,
                                TargetSet targets);

// What rows' columns before `first` hand to `width` columns from there on: fed [rows][width] from
// errors [rows][cols], of which those before `first` count.
Status feed_errors(const Feedback& feedback, std::span<const float> errors, int64_t first,
                   int64_t width, std::span<float> fed, const Exec& exec, TargetSet targets);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// One row of logits as log-probabilities: the arithmetic that perplexity, divergence, choices
// and sensitivity share. Sums run in one fixed order on the sampling kernels, so a number does not
// depend on threads or on the machine.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ingot/sampling.h"
#include "kernels/sampling_ops.h"
#include "kernels/target.h"

namespace ingot {

// Scratch for a thread; the row must stay while it is asked about. Single thread.
class LogitRow {
 public:
  explicit LogitRow(TargetSet targets) : kernels_(&choose_sampling(targets)) {}

  // False when the row has a NaN, plus infinity, or nothing above minus infinity.
  [[nodiscard]] bool start(std::span<const float> logits);
  double logprob(TokenId id) const {
    return static_cast<double>(logits_[static_cast<size_t>(id)] - top_) - log_sum_;
  }
  TokenId best() const;  // the lowest id among the largest
  float top() const { return top_; }
  double log_sum() const { return log_sum_; }  // of e^(logit - top)
  // Each e^(logit - top), and their sum.
  std::span<const float> weights();
  double weight_sum() const { return weight_sum_; }
  std::span<const float> logits() const { return logits_; }

 private:
  const SamplingKernels* kernels_;
  std::span<const float> logits_;
  float top_ = 0;
  double weight_sum_ = 0;
  double log_sum_ = 0;
  bool has_weights_ = false;
  std::vector<float> block_max_, block_sums_, weights_;
};

}  // namespace ingot

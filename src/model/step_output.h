// SPDX-License-Identifier: Apache-2.0
// What a step says of its output rows: a token that was sampled where the logits lie, or the logits
// themselves. Borrowed from the decoder; valid until its next step.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/row_sampling.h"

namespace ingot {

// Immutable.
class StepOutput {
 public:
  StepOutput(std::span<const float> logits, size_t vocab) : logits_(logits), vocab_(vocab) {}
  // A row has logits where its sample has no token; not even then, without `rows`.
  StepOutput(std::span<const RowSample> samples, std::span<const float* const> rows, size_t vocab)
      : samples_(samples), rows_(rows), vocab_(vocab) {}

  // Null: it was not sampled, logits() has the row.
  const RowSample* sample(size_t row) const {
    return samples_.empty() || samples_[row].id < 0 ? nullptr : &samples_[row];
  }
  bool has_logits() const { return samples_.empty() || !rows_.empty(); }
  std::span<const float> logits(size_t row) const {
    return samples_.empty() ? logits_.subspan(row * vocab_, vocab_)
                            : std::span<const float>(rows_[row], vocab_);
  }
  // [rows, vocab]; of a step in which nothing was to be sampled.
  std::span<const float> all_logits() const { return logits_; }

 private:
  std::span<const float> logits_;
  std::span<const RowSample> samples_;
  std::span<const float* const> rows_;
  size_t vocab_;
};

}  // namespace ingot

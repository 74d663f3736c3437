// SPDX-License-Identifier: Apache-2.0
#include "model/logit_row.h"

#include <algorithm>
#include <cmath>

namespace ingot {

bool LogitRow::start(std::span<const float> logits) {
  logits_ = logits;
  has_weights_ = false;
  if (logits.empty()) return false;
  const size_t blocks = logit_blocks(logits.size());
  block_max_.resize(blocks);
  block_sums_.resize(blocks);
  if (!kernels_->scan(logits.data(), logits.size(), block_max_.data())) return false;
  top_ = *std::ranges::max_element(block_max_);
  if (!std::isfinite(top_)) return false;
  weight_sum_ =
      kernels_->weigh(logits.data(), logits.size(), top_, 1.0F, nullptr, block_sums_.data()).weight;
  log_sum_ = std::log(weight_sum_);
  return true;
}

TokenId LogitRow::best() const {
  const auto block = static_cast<size_t>(std::ranges::find(block_max_, top_) - block_max_.begin());
  const auto from = logits_.begin() + static_cast<ptrdiff_t>(block * kLogitBlock);
  return static_cast<TokenId>(std::find(from, logits_.end(), top_) - logits_.begin());
}

std::span<const float> LogitRow::weights() {
  weights_.resize(logits_.size());
  if (!has_weights_) {
    kernels_->weigh(logits_.data(), logits_.size(), top_, 1.0F, weights_.data(),
                    block_sums_.data());
    has_weights_ = true;
  }
  return weights_;
}

}  // namespace ingot

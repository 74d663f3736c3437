// SPDX-License-Identifier: Apache-2.0
// How far a model's next-token distributions have moved from a reference's, over the same text: the
// measure of what a quantization cost. Rows are compared one by one (compare_rows, on any thread)
// and added up in the order of the text, so the sums do not depend on threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ingot/sampling.h"
#include "kernels/target.h"
#include "model/logit_row.h"

namespace ingot {

// One position: the reference's distribution p, the model's q, and the token that came next.
struct KlRow {
  bool is_finite = false;  // false: a row had a NaN or an infinity, the rest means nothing
  bool same_top = false;   // both find the same token the likeliest
  float kl = 0;            // sum of p (ln p - ln q), in nats
  float reference_nll = 0;
  float nll = 0;
  float delta_p = 0;  // q - p, of the next token
};

struct KlStats {
  int64_t tokens = 0;
  double mean_kl = 0;
  double mean_kl_error = 0;  // standard error, as all that are named so
  double median_kl = 0;
  double kl_90 = 0, kl_95 = 0, kl_99 = 0, kl_999 = 0;  // quantiles
  double max_kl = 0;
  double top1_agreement = 0;  // share of the positions
  double top1_agreement_error = 0;
  double mean_delta_p = 0;
  double rms_delta_p = 0;
  double rms_delta_p_error = 0;
  double perplexity = 0;
  double reference_perplexity = 0;
  double perplexity_ratio = 0;  // of the model's to the reference's
  double perplexity_ratio_error = 0;
};

// Scratch of one thread. Single thread.
class RowComparer {
 public:
  explicit RowComparer(TargetSet targets = TargetSet::of_this_machine())
      : reference_(targets), model_(targets) {}
  // Rows of the same length; `next` is inside them.
  KlRow compare(std::span<const float> reference_logits, std::span<const float> logits,
                TokenId next);

 private:
  LogitRow reference_;
  LogitRow model_;
};

// Single thread.
class KlDivergence {
 public:
  explicit KlDivergence(TargetSet targets = TargetSet::of_this_machine()) : comparer_(targets) {}

  void add(std::span<const float> reference_logits, std::span<const float> logits, TokenId next) {
    add(comparer_.compare(reference_logits, logits, next));
  }
  void add(const KlRow& row);
  int64_t tokens() const { return static_cast<int64_t>(kl_.size()); }
  // Rows that were not finite; they count nowhere else.
  int64_t bad_rows() const { return bad_rows_; }
  double mean_kl() const;
  KlStats stats() const;
  // In nats, in the order they came.
  std::span<const float> values() const { return kl_; }
  std::span<const float> nll() const { return nlls_; }  // the model's own

 private:
  struct Moments {
    double sum = 0, squares = 0;
    void add(double value) {
      sum += value;
      squares += value * value;
    }
    double mean(double count) const { return sum / count; }
    double standard_error(double count) const;
  };
  RowComparer comparer_;
  std::vector<float> kl_, nlls_;
  Moments kl_moments_, delta_p_, delta_p_squares_, log_ratio_;
  double nll_ = 0, reference_nll_ = 0;
  int64_t same_top_ = 0;
  int64_t bad_rows_ = 0;
};

// The value below which the share `at` (0 to 1) of the values lies, between neighbours by a
// straight line; 0 of none. Reorders them.
double quantile(std::span<float> values, double at);

}  // namespace ingot

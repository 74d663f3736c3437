// SPDX-License-Identifier: Apache-2.0
#include "eval/kl_divergence.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace ingot {
namespace {

// Sum of weight * ((x - x_top) - (y - y_top)) in eight lanes per block, blocks in double: the order
// of the sampling kernels. A weight of 0 counts nothing, whatever stands beside it.
double weighted_difference(std::span<const float> weights, std::span<const float> x, float x_top,
                           std::span<const float> y, float y_top) {
  double sum = 0;
  const size_t count = weights.size();
  for (size_t begin = 0; begin < count; begin += kLogitBlock) {
    float lanes[8] = {};
    const size_t end = std::min(begin + kLogitBlock, count);
    size_t i = begin;
    for (; i + 8 <= end; i += 8) {
      for (size_t lane = 0; lane < 8; ++lane) {
        const float w = weights[i + lane];
        const float d = (x[i + lane] - x_top) - (y[i + lane] - y_top);
        lanes[lane] += w > 0 ? w * d : 0.0F;
      }
    }
    for (; i < end; ++i) {
      const float w = weights[i];
      lanes[i - begin - (end - begin) / 8 * 8] +=
          w > 0 ? w * ((x[i] - x_top) - (y[i] - y_top)) : 0.0F;
    }
    for (const float lane : lanes)
      sum += static_cast<double>(lane);
  }
  return sum;
}

}  // namespace

KlRow RowComparer::compare(std::span<const float> reference_logits, std::span<const float> logits,
                           TokenId next) {
  INGOT_CHECK(reference_logits.size() == logits.size());
  INGOT_CHECK(next >= 0 && static_cast<size_t>(next) < logits.size());
  KlRow row;
  if (!reference_.start(reference_logits) || !model_.start(logits)) return row;
  const double moved = weighted_difference(reference_.weights(), reference_logits, reference_.top(),
                                           logits, model_.top());
  // Never negative but for rounding.
  const double kl =
      std::max(0.0, moved / reference_.weight_sum() - reference_.log_sum() + model_.log_sum());
  const double reference_logprob = reference_.logprob(next);
  const double logprob = model_.logprob(next);
  row.kl = static_cast<float>(kl);
  row.reference_nll = static_cast<float>(-reference_logprob);
  row.nll = static_cast<float>(-logprob);
  row.delta_p = static_cast<float>(std::exp(logprob) - std::exp(reference_logprob));
  row.same_top = reference_.best() == model_.best();
  row.is_finite =
      std::isfinite(row.kl) && std::isfinite(row.nll) && std::isfinite(row.reference_nll);
  return row;
}

double KlDivergence::Moments::standard_error(double count) const {
  const double variance = squares / count - mean(count) * mean(count);
  return count > 1 && variance > 0 ? std::sqrt(variance / (count - 1)) : 0;
}

void KlDivergence::add(const KlRow& row) {
  if (!row.is_finite) {
    ++bad_rows_;
    return;
  }
  const auto delta_p = static_cast<double>(row.delta_p);
  const auto nll = static_cast<double>(row.nll);
  const auto reference_nll = static_cast<double>(row.reference_nll);
  kl_.push_back(row.kl);
  nlls_.push_back(row.nll);
  kl_moments_.add(static_cast<double>(row.kl));
  delta_p_.add(delta_p);
  delta_p_squares_.add(delta_p * delta_p);
  log_ratio_.add(nll - reference_nll);
  nll_ += nll;
  reference_nll_ += reference_nll;
  same_top_ += row.same_top ? 1 : 0;
}

double KlDivergence::mean_kl() const {
  return kl_.empty() ? 0 : kl_moments_.mean(static_cast<double>(kl_.size()));
}

KlStats KlDivergence::stats() const {
  KlStats stats;
  stats.tokens = tokens();
  if (kl_.empty()) return stats;
  const auto count = static_cast<double>(stats.tokens);
  stats.mean_kl = kl_moments_.mean(count);
  stats.mean_kl_error = kl_moments_.standard_error(count);
  std::vector<float> values = kl_;
  stats.median_kl = quantile(values, 0.5);
  stats.kl_90 = quantile(values, 0.9);
  stats.kl_95 = quantile(values, 0.95);
  stats.kl_99 = quantile(values, 0.99);
  stats.kl_999 = quantile(values, 0.999);
  stats.max_kl = quantile(values, 1);
  stats.top1_agreement = static_cast<double>(same_top_) / count;
  if (stats.tokens > 1) {
    stats.top1_agreement_error =
        std::sqrt(stats.top1_agreement * (1 - stats.top1_agreement) / (count - 1));
  }
  stats.mean_delta_p = delta_p_.mean(count);
  stats.rms_delta_p = std::sqrt(delta_p_squares_.mean(count));
  // Of the mean square, carried through the root.
  if (stats.rms_delta_p > 0)
    stats.rms_delta_p_error = delta_p_squares_.standard_error(count) / (2 * stats.rms_delta_p);
  stats.perplexity = std::exp(nll_ / count);
  stats.reference_perplexity = std::exp(reference_nll_ / count);
  stats.perplexity_ratio = std::exp(log_ratio_.mean(count));
  stats.perplexity_ratio_error = stats.perplexity_ratio * log_ratio_.standard_error(count);
  return stats;
}

double quantile(std::span<float> values, double at) {
  if (values.empty()) return 0;
  const double position = std::clamp(at, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(position);
  const auto nth = values.begin() + static_cast<ptrdiff_t>(below);
  std::ranges::nth_element(values, nth);
  const auto low = static_cast<double>(*nth);
  if (below + 1 == values.size()) return low;
  const auto high = static_cast<double>(*std::min_element(nth + 1, values.end()));
  return low + (position - static_cast<double>(below)) * (high - low);
}

}  // namespace ingot

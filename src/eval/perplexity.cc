// SPDX-License-Identifier: Apache-2.0
#include "eval/perplexity.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/logit_row.h"

namespace ingot {
namespace {

constexpr double kNormal95 = 1.959963984540054;  // standard deviations on both sides

// What one thread has seen; its own cache line.
struct alignas(64) PerplexityShare {
  explicit PerplexityShare(TargetSet targets) : row(targets) {}
  LogitRow row;
  double nll = 0;
  int64_t count = 0;
};

}  // namespace

PerplexityResult summarize_nll(std::span<const float> nll, int64_t windows) {
  PerplexityResult result;
  result.tokens = static_cast<int64_t>(nll.size());
  result.windows = windows;
  if (nll.empty()) return result;
  double sum = 0;
  double squares = 0;
  for (const float value : nll) {
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  const auto count = static_cast<double>(nll.size());
  result.mean_nll = sum / count;
  result.perplexity = std::exp(result.mean_nll);
  const double variance = squares / count - result.mean_nll * result.mean_nll;
  const double error = count > 1 && variance > 0 ? std::sqrt(variance / (count - 1)) : 0;
  result.standard_error = error * result.perplexity;
  // Symmetric in the logarithm, where the mean is normal.
  result.lower = std::exp(result.mean_nll - kNormal95 * error);
  result.upper = std::exp(result.mean_nll + kNormal95 * error);
  return result;
}

Result<std::vector<float>> score_text(ScoreModel& model, ThreadPool& pool, const ScoredText& text,
                                      const GoesOn& goes_on) {
  std::vector<float> nll(text.targets.size(), std::numeric_limits<float>::quiet_NaN());
  std::vector<PerplexityShare> shares(static_cast<size_t>(pool.size()),
                                      PerplexityShare(model.model().targets()));
  const auto on_row = [&](int thread, const ScoredRow& row,
                          std::span<const std::span<const float>> logits) {
    PerplexityShare& share = shares[static_cast<size_t>(thread)];
    const size_t index = text.index_of(row);
    if (!share.row.start(logits.front())) return;  // stays a NaN
    const double value = -share.row.logprob(text.targets[index]);
    nll[index] = static_cast<float>(value);
    share.nll += value;
    ++share.count;
  };
  ScoreModel* const models[] = {&model};
  INGOT_TRY(run_scores(models, pool, text.sequences, on_row, [&](int64_t done, int64_t all) {
    if (!goes_on) return true;
    double sum = 0;
    int64_t count = 0;
    for (const PerplexityShare& share : shares) {
      sum += share.nll;
      count += share.count;
    }
    return goes_on({.fraction = static_cast<double>(done) / static_cast<double>(all),
                    .perplexity = count > 0 ? std::exp(sum / static_cast<double>(count)) : 0});
  }));
  const auto bad = std::ranges::find_if(nll, [](float value) { return !std::isfinite(value); });
  if (bad != nll.end())
    return Status::internal("the model gave logits that are not finite at scored token {} of {}",
                            bad - nll.begin() + 1, nll.size());
  return nll;
}

}  // namespace ingot

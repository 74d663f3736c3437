// SPDX-License-Identifier: Apache-2.0
#include "eval/perplexity.h"

#include <algorithm>
#include <cmath>

#include "eval/score_windows.h"

namespace ingot {
namespace {

// Negative log likelihood of `id`: the sum in double over exponents in float, as llama-perplexity
// does it, so that numbers compare in all printed digits.
double negative_log_likelihood(std::span<const float> logits, TokenId id) {
  const float best = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits)
    sum += static_cast<double>(std::exp(logit - best));
  return std::log(sum) - static_cast<double>(logits[static_cast<size_t>(id)] - best);
}

// Running mean and variance of what has been scored.
struct Tally {
  double sum = 0;
  double squares = 0;
  int64_t count = 0;

  void add(double nll) {
    sum += nll;
    squares += nll * nll;
    ++count;
  }
  double mean() const { return sum / static_cast<double>(count); }
  // Of the perplexity: the mean's own error, carried through the exponential.
  double standard_error() const {
    const double variance = squares / static_cast<double>(count) - mean() * mean();
    if (variance <= 0 || count < 2) return 0;
    return std::sqrt(variance / static_cast<double>(count - 1)) * std::exp(mean());
  }
};

// Row r of a window predicts its input r + 1; with a bos in front, inputs are one further.
Status score_window(Solo& solo, std::span<const TokenId> ids, const ScoreWindow& window,
                    TokenId bos, Tally& tally) {
  const auto text =
      ids.subspan(static_cast<size_t>(window.begin), static_cast<size_t>(window.size));
  std::vector<TokenId> inputs;
  inputs.reserve(text.size() + 1);
  if (window.bos == BosUse::kPrepended) inputs.push_back(bos);
  inputs.insert(inputs.end(), text.begin(), text.end());
  if (window.bos == BosUse::kReplacesFirst) inputs.front() = bos;

  const int64_t shift = window.bos == BosUse::kPrepended ? 0 : 1;
  const auto rows =
      static_cast<int64_t>(inputs.size()) - 1;  // the last input predicts nothing here
  bool is_finite = true;
  INGOT_TRY(solo.score(std::span(inputs).first(static_cast<size_t>(rows)),
                       [&](int64_t row, std::span<const float> logits) {
                         const int64_t target = row + shift;
                         if (target < window.first_scored) return;
                         const double nll =
                             negative_log_likelihood(logits, text[static_cast<size_t>(target)]);
                         is_finite = is_finite && std::isfinite(nll);
                         tally.add(nll);
                       }));
  if (!is_finite)
    return Status::internal("the model gave logits that are not finite in the window at token {}",
                            window.begin);
  return Status::ok();
}

}  // namespace

Result<PerplexityResult> perplexity(Solo& solo, std::span<const TokenId> ids,
                                    const PerplexityOptions& options,
                                    const std::function<void(const ChunkReport&)>& on_chunk) {
  INGOT_TRY(const std::vector<ScoreWindow> windows,
            plan_windows(static_cast<int64_t>(ids.size()), options));
  Tally tally;
  ChunkReport report{.chunk = 0, .chunks = static_cast<int64_t>(windows.size())};
  for (const ScoreWindow& window : windows) {
    INGOT_TRY(score_window(solo, ids, window, options.bos, tally));
    ++report.chunk;
    report.perplexity = std::exp(tally.mean());
    if (on_chunk) on_chunk(report);
  }
  return PerplexityResult{.perplexity = std::exp(tally.mean()),
                          .standard_error = tally.standard_error(),
                          .mean_nll = tally.mean(),
                          .tokens = tally.count,
                          .chunks = report.chunk};
}

}  // namespace ingot

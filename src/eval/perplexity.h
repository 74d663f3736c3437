// SPDX-License-Identifier: Apache-2.0
// Perplexity of a text, by the protocols of eval/score_windows.h. Windows run side by side in
// ragged batches, and only scored rows have logits. The result does not depend on threads or
// batches.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/thread_pool.h"
#include "eval/score_model.h"
#include "eval/scored_text.h"

namespace ingot {

struct PerplexityResult {
  double perplexity = 0;
  double standard_error = 0;    // of the perplexity
  double lower = 0, upper = 0;  // of 95 %
  double mean_nll = 0;
  int64_t tokens = 0;  // scored
  int64_t windows = 0;
};

// Of the negative log-likelihoods of tokens, in order.
PerplexityResult summarize_nll(std::span<const float> nll, int64_t windows);

struct ScoreProgress {
  double fraction = 0;    // of all tokens computed
  double perplexity = 0;  // so far; 0: unknown
};
using GoesOn = std::function<bool(const ScoreProgress&)>;

// The negative log-likelihood of each of text.targets. kInternal when the model's logits are not
// finite; kCancelled when goes_on says false.
Result<std::vector<float>> score_text(ScoreModel& model, ThreadPool& pool, const ScoredText& text,
                                      const GoesOn& goes_on);

}  // namespace ingot

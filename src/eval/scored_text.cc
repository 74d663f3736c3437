// SPDX-License-Identifier: Apache-2.0
#include "eval/scored_text.h"

#include <algorithm>

#include "base/limits.h"

namespace ingot {

int64_t ScoredText::longest() const {
  size_t most = 0;
  for (const ScoreSequence& sequence : sequences)
    most = std::max(most, sequence.tokens.size());
  return static_cast<int64_t>(most);
}

Result<ScoredText> cut_text(std::span<const TokenId> ids, const WindowOptions& options) {
  INGOT_TRY(const std::vector<ScoreWindow> windows,
            plan_windows(static_cast<int64_t>(ids.size()), options));
  int64_t inputs = 0;
  for (const ScoreWindow& window : windows)
    inputs += window.size;
  if (inputs > limits::kEvalTokens) {
    return Status::resource_exhausted(
        "{} windows of {} tokens are {} tokens to compute, more than {}; use a larger --stride or "
        "fewer --chunks",
        windows.size(), options.context, inputs, limits::kEvalTokens);
  }
  ScoredText text;
  for (const ScoreWindow& window : windows) {
    const auto part =
        ids.subspan(static_cast<size_t>(window.begin), static_cast<size_t>(window.size));
    const bool is_prepended = window.bos == BosUse::kPrepended;
    ScoreSequence sequence;
    if (is_prepended) sequence.tokens.push_back(options.bos);
    sequence.tokens.insert(sequence.tokens.end(), part.begin(), part.end());
    if (window.bos == BosUse::kReplacesFirst) sequence.tokens.front() = options.bos;
    sequence.tokens.pop_back();  // the last input predicts nothing here
    sequence.first_row = window.first_scored - (is_prepended ? 0 : 1);
    text.sequences.push_back(std::move(sequence));
    text.offsets.push_back(static_cast<int64_t>(text.targets.size()));
    const auto scored = part.subspan(static_cast<size_t>(window.first_scored));
    text.targets.insert(text.targets.end(), scored.begin(), scored.end());
  }
  return text;
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// A text cut by a protocol, ready to run: the inputs of each window, and every token that is
// scored, in the order of the text. What perplexity and divergence are both taken over.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "eval/score_model.h"
#include "eval/score_plan.h"
#include "eval/score_windows.h"

namespace ingot {

struct ScoredText {
  std::vector<ScoreSequence> sequences;  // one per window; row r predicts its input r + 1
  std::vector<int64_t> offsets;          // of each window's first scored token among `targets`
  std::vector<TokenId> targets;          // all that are scored

  size_t index_of(const ScoredRow& row) const {
    return static_cast<size_t>(offsets[row.sequence] + row.row - sequences[row.sequence].first_row);
  }
  int64_t longest() const;  // inputs of a window
};

// Fails as plan_windows() does.
Result<ScoredText> cut_text(std::span<const TokenId> ids, const WindowOptions& options);

}  // namespace ingot

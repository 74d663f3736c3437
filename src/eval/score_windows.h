// SPDX-License-Identifier: Apache-2.0
// How a long text is cut into windows for scoring, and which of its tokens count: the arithmetic of
// a perplexity protocol, apart from any model.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "eval/perplexity.h"

namespace ingot {

enum class BosUse : uint8_t {
  kNone,
  kReplacesFirst,  // the window's first token becomes bos
  kPrepended,      // bos stands before the window's tokens
};

// Tokens [begin, begin + size) of the text; those from begin + first_scored on are predicted, each
// from all that stand before it in the window.
struct ScoreWindow {
  int64_t begin = 0;
  int64_t size = 0;
  int64_t first_scored = 0;
  BosUse bos = BosUse::kNone;
  friend bool operator==(const ScoreWindow&, const ScoreWindow&) = default;
};

// Fails, with the numbers, when the text is too short for the protocol or an option is out of
// range.
Result<std::vector<ScoreWindow>> plan_windows(int64_t tokens, const PerplexityOptions& options);

}  // namespace ingot

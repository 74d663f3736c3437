// SPDX-License-Identifier: Apache-2.0
// Which tokens of which sequences each forward pass of a scoring run computes: several sequences at
// once where they are short, one in chunks where it is long. Pure arithmetic; runs nothing, so one
// plan can drive two models in step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ingot/sampling.h"

namespace ingot {

// A run of tokens from an empty cache; the logits of rows [first_row, tokens.size()) are wanted.
struct ScoreSequence {
  std::vector<TokenId> tokens = {};
  int64_t first_row = 0;
};

struct ScorePlanOptions {
  int64_t slots = 1;         // sequences at once
  int64_t batch_tokens = 1;  // in one pass, at least 1
  int64_t logit_rows = 1;    // wanted of one pass, at least 1
};

// Part of a sequence in one pass: its tokens [begin, end), in the pages of `slot`.
struct ScorePart {
  size_t sequence = 0;
  size_t slot = 0;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t first_row = 0;  // rows from here to `end` are wanted; `end`: none
};

// Single thread. The sequences must outlive it.
class ScorePlan {
 public:
  ScorePlan(std::span<const ScoreSequence> sequences, const ScorePlanOptions& options);
  // The next pass; empty when all is planned. Every sequence's parts come in order.
  std::vector<ScorePart> next();

 private:
  struct Slot {
    bool is_taken = false;
    size_t sequence = 0;
    int64_t computed = 0;
  };
  std::span<const ScoreSequence> sequences_;
  ScorePlanOptions options_;
  std::vector<Slot> slots_;
  size_t next_sequence_ = 0;
};

}  // namespace ingot

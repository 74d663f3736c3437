// SPDX-License-Identifier: Apache-2.0
#include "eval/score_plan.h"

#include <algorithm>

#include "base/check.h"

namespace ingot {

ScorePlan::ScorePlan(std::span<const ScoreSequence> sequences, const ScorePlanOptions& options)
    : sequences_(sequences), options_(options), slots_(static_cast<size_t>(options.slots)) {
  INGOT_CHECK(options.slots > 0 && options.batch_tokens > 0 && options.logit_rows > 0);
}

std::vector<ScorePart> ScorePlan::next() {
  std::vector<ScorePart> parts;
  int64_t tokens_left = options_.batch_tokens;
  int64_t rows_left = options_.logit_rows;
  for (size_t i = 0; i < slots_.size() && tokens_left > 0; ++i) {
    Slot& slot = slots_[i];
    while (!slot.is_taken && next_sequence_ < sequences_.size()) {
      slot = {!sequences_[next_sequence_].tokens.empty(), next_sequence_, 0};
      ++next_sequence_;
    }
    if (!slot.is_taken) continue;
    const ScoreSequence& sequence = sequences_[slot.sequence];
    const auto size = static_cast<int64_t>(sequence.tokens.size());
    // Rows before the first wanted one cost no logits; of those after it as many as are left.
    const int64_t free_rows = std::max<int64_t>(sequence.first_row - slot.computed, 0);
    const int64_t most = std::min(tokens_left, free_rows + rows_left);
    const int64_t end = slot.computed + std::min(size - slot.computed, most);
    if (end == slot.computed) continue;
    const int64_t first_row = std::clamp(sequence.first_row, slot.computed, end);
    parts.push_back({slot.sequence, i, slot.computed, end, first_row});
    tokens_left -= end - slot.computed;
    rows_left -= end - first_row;
    slot.computed = end;
    if (end == size) slot.is_taken = false;
  }
  return parts;
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// What one forward pass computes: tokens of many sequences in one flat list. Whole prompts, chunks,
// single decode tokens, drafts to verify: the model does not know which is which.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ingot/sampling.h"
#include "kernels/paged_kv.h"

namespace ingot {

struct BatchSequence {
  int64_t tokens = 0;          // rows of this sequence in the batch, in order
  int64_t first_position = 0;  // of its first row
  // One per cache group, each covering positions [0, first_position + tokens); kNoPage for pages
  // wholly out of the group's window as seen from first_position.
  std::span<const PageTable> tables;
  // The length that length-dependent ropes (dynamic, longrope) are set for. Fixed for a sequence's
  // whole life, so that its cached keys stay valid: the length of its prompt.
  int64_t rope_length = 0;
};

struct Batch {
  std::vector<TokenId> tokens;           // of all sequences, one after the other
  std::vector<BatchSequence> sequences;  // their `tokens` sum to tokens.size()
  std::vector<int64_t> output_rows;      // rows of `tokens` whose logits are wanted, ascending
  std::vector<int64_t> hidden_rows;      // and whose last hidden state is, ascending
};

}  // namespace ingot

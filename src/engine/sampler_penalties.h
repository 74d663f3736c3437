// SPDX-License-Identifier: Apache-2.0
// The stages that change logits because of the request or of what was said before: biases and
// bans, the repetition, presence and frequency penalties, and DRY. They touch few tokens; each is a
// pure function of the history, so a resumed sequence needs nothing kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/sampler_candidates.h"
#include "engine/sampling_params.h"
#include "kernels/row_sampling.h"

namespace ingot {

// What the stages may look at besides logits.
struct SequenceView {
  std::span<const TokenId> history;  // prompt and answer so far
  size_t prompt_size = 0;
  std::span<const TokenId> answer() const { return history.subspan(prompt_size); }
};

// Two numbers per token, for one row; clears by its own touch list. Engine thread only.
class TokenTable {
 public:
  struct Entry {
    int32_t first = 0;
    int32_t second = 0;
  };
  void reset(size_t vocab);
  Entry& touch(TokenId id);  // ids outside the vocabulary share one entry that nobody reads
  void forgive(TokenId id);  // makes a touched entry's first negative
  // function(logit, entry) for each candidate that was touched.
  template <class Function>
  void for_each(Candidates& candidates, Function&& function);
  // The tokens touched, each once; and what became of one.
  std::span<const TokenId> touched() const { return touched_; }
  const Entry& entry(TokenId id) const { return entries_[static_cast<size_t>(id)]; }

 private:
  std::vector<Entry> entries_;
  std::vector<TokenId> touched_;
  Entry outside_;
};

struct PenaltyScratch {
  TokenTable table;
  std::vector<int32_t> repeats;
};

// Logit biases, ends before min_tokens, the last token of bad words. Candidates must still be all.
void apply_bans(const SamplingParams& params, const SequenceView& sequence, Candidates& candidates);
void apply_penalties(const SamplingParams& params, const SequenceView& sequence,
                     PenaltyScratch& scratch, Candidates& candidates);
// The two above (penalties if `penalizes`) as edits for whoever has the logits, sorted by id: the
// same numbers to the bit.
void list_edits(const SamplingParams& params, const SequenceView& sequence, size_t vocab,
                bool penalizes, PenaltyScratch& scratch, std::vector<LogitEdit>& edits);
// Whether the stage would change anything.
bool has_penalties(const SamplingParams& params);
bool has_dry(const SamplingParams& params);
// Whether what is sampled depends on which tokens were said, not only on how many.
bool reads_history(const SamplingParams& params);
// `params.dry_breakers` must be sorted.
void apply_dry(const SamplingParams& params, const SequenceView& sequence, PenaltyScratch& scratch,
               Candidates& candidates);

// Where a repeat may begin: how many of the last tokens come after the last breaker.
size_t tokens_since_breaker(std::span<const TokenId> tokens,
                            const std::vector<std::vector<TokenId>>& sorted_breakers);

}  // namespace ingot

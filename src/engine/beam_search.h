// SPDX-License-Identifier: Apache-2.0
// Beam search as pure logic: it is told each live beam's most likely next tokens and says which
// beams to continue with which token; the engine forks and drops sequences accordingly. Scores are
// those of vLLM: the sum of log-probabilities over length^length_penalty.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/sampling_logprobs.h"

namespace ingot {

struct BeamParams {
  int32_t width = 4;
  double length_penalty = 1;  // above 0 favours long answers, below 0 short ones
  // Stop at `width` finished answers. Otherwise when no live beam can still beat them.
  bool early_stopping = false;
  int64_t max_tokens = 16;
  int64_t prompt_tokens = 0;  // counted into the length, as vLLM does; 0: the answer's length alone
  std::vector<TokenId> stop_ids =
      {};  // end an answer; they count for the sum but not for the length
};
Status validate(const BeamParams& params);

// The most likely next tokens of one live beam, at least BeamSearch::tokens_per_beam() of them
// unless the vocabulary is smaller.
using BeamInput = std::span<const TokenLogprob>;

struct BeamHypothesis {
  std::vector<TokenId> ids;  // with the stop id, if it ended by one
  double logprob = 0;        // sum
  double score = 0;
  bool has_stopped = false;  // false: cut off at max_tokens
};

// One live beam of the next step: beam `parent` of the last one, continued with `token`.
struct BeamChoice {
  size_t parent = 0;
  TokenId token = 0;
};

// Starts with one live beam, the prompt. Engine thread only.
class BeamSearch {
 public:
  explicit BeamSearch(BeamParams params);  // that have passed validate()
  size_t tokens_per_beam() const;
  size_t live() const { return live_.size(); }  // beams of which advance() wants the next tokens
  bool is_done() const { return live_.empty(); }

  // One input per live beam, in the order of the last result. The beams to go on with, best first;
  // none: the search is over.
  std::vector<BeamChoice> advance(std::span<const BeamInput> inputs);
  // The best `width` answers finished so far, best first; once done, the result.
  const std::vector<BeamHypothesis>& finished() const { return finished_; }

 private:
  double score(double logprob, size_t tokens) const;
  void finish(BeamHypothesis hypothesis);
  bool can_improve(const BeamHypothesis& beam) const;

  BeamParams params_;
  std::vector<BeamHypothesis> live_;
  std::vector<BeamHypothesis> finished_;
};

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// From logits to a token. The chain, in llama.cpp's order: penalties, top-k, top-p, min-p,
// temperature, draw. Randomness is a counter-based generator keyed by (seed, position), so a token
// never depends on what else ran.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "model/batch.h"

namespace ingot {

struct SamplingParams {
  float temperature = 0.8F;         // 0: greedy
  int32_t top_k = 40;               // 0: off
  float top_p = 0.95F;              // 1: off
  float min_p = 0.05F;              // 0: off
  float repetition_penalty = 1.0F;  // 1: off
  int32_t repeat_last_n = 64;       // tokens the penalties look back on; -1: all
  float presence_penalty = 0;
  float frequency_penalty = 0;
  uint64_t seed = 0;
};

// An out-of-range value is an error that names the field and its range.
Status validate(const SamplingParams& params);

struct TokenLogprob {
  TokenId id = 0;
  float logprob = 0;
};

// One position: the token that stands there and the best alternatives, best first.
struct PositionLogprobs {
  TokenId id = 0;
  float logprob = 0;
  std::vector<TokenLogprob> top;
};

// log softmax of the raw logits (before any sampling parameter) at `id`, and the `best` best.
PositionLogprobs position_logprobs(std::span<const float> logits, TokenId id, int best);

// Highest logit; the lowest id wins a tie. Not finite: nothing.
std::optional<TokenId> argmax(std::span<const float> logits);

// Draws a token for `position` of a sequence whose last tokens are `history`. Scratch is kept
// between calls. Engine thread only.
class Sampler {
 public:
  explicit Sampler(SamplingParams params) : params_(params) {}
  // kInternal when the logits hold NaN: that request ends with an error, others go on.
  Result<TokenId> sample(std::span<const float> logits, std::span<const TokenId> history,
                         uint64_t position);

 private:
  void penalize(std::span<const TokenId> history);
  SamplingParams params_;
  std::vector<float> logits_;
  struct Candidate {
    float logit;
    TokenId id;
  };
  std::vector<Candidate> candidates_;
};

}  // namespace ingot

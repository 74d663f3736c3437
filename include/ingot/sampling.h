// SPDX-License-Identifier: Apache-2.0
// How a request wants its tokens chosen, and what it is told of their likelihood. Names and
// meanings are those of llama.cpp and vLLM; docs/sampling.md has the formula of each field.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace ingot {

using TokenId = int32_t;

// The stages whose order can be chosen.
enum class SamplerStage : uint8_t {
  kPenalties,
  kDry,
  kTopNSigma,
  kTopK,
  kTypicalP,
  kTopP,
  kMinP,
  kXtc,
  kTemperature,
};

struct SamplingParams {
  float temperature = 0.8F;  // 0: greedy
  float dynatemp_range = 0;  // temperature moves by this around its value with the entropy; 0: off
  float dynatemp_exponent = 1;
  int32_t top_k = 40;          // 0 or -1: off
  float top_p = 0.95F;         // 1: off
  float min_p = 0.05F;         // 0: off
  float typical_p = 1;         // 1: off
  float top_n_sigma = -1;      // 0 or less: off
  float xtc_probability = 0;   // 0: off
  float xtc_threshold = 0.1F;  // above 0.5: off

  float repetition_penalty = 1;  // 1: off
  float presence_penalty = 0;
  float frequency_penalty = 0;
  int32_t repeat_last_n = 64;   // tokens the penalties look back on; -1: all, 0: off
  bool penalize_prompt = true;  // presence and frequency count the prompt's tokens too
  float dry_multiplier = 0;     // 0: off
  float dry_base = 1.75F;
  int32_t dry_allowed_length = 2;   // repeats of this many tokens are free
  int32_t dry_penalty_last_n = 64;  // tokens searched for repeats; -1: all, 0: off
  std::vector<std::vector<TokenId>> dry_breakers = {};  // repeats do not reach across these

  int32_t mirostat = 0;  // 0: off, 2: mirostat 2 in place of the cuts
  float mirostat_tau = 5;
  float mirostat_eta = 0.1F;

  std::vector<std::pair<TokenId, float>> logit_bias =
      {};                                            // added to the logit; minus infinity bans
  std::vector<std::vector<TokenId>> bad_words = {};  // sequences that are never completed
  std::vector<TokenId> allowed_token_ids = {};       // empty: all

  std::vector<TokenId> eos_ids = {};         // the model's own ends
  std::vector<TokenId> stop_token_ids = {};  // the request's
  bool ignore_eos = false;  // eos_ids do not end the answer (they can still be drawn)
  int32_t min_tokens = 0;   // no end is drawn before so many tokens

  std::optional<int32_t> logprobs = {};         // alternatives told per generated token
  std::optional<int32_t> prompt_logprobs = {};  // and per prompt token
  // ... from this one on: those before have none, and are reused where they are cached.
  int32_t prompt_logprobs_from = 0;
  uint64_t seed = 0;
  // Empty: default_stages(). A stage that is not listed does not run.
  std::vector<SamplerStage> stages = {};
};

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

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// What the engine is asked and what it answers. Ids in, ids out: the engine never sees text.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/beam_search.h"
#include "engine/sampling_logprobs.h"
#include "engine/sampling_params.h"
#include "ingot/engine.h"

namespace ingot {

using RequestId = int64_t;

struct EngineRequest {
  std::vector<TokenId> prompt;
  int64_t max_tokens = -1;  // -1: until the context is full
  SamplingParams sampling;  // stop ids, logprobs and seed included
  int32_t n = 1;            // answers to one prompt, which is computed once
  std::optional<BeamParams> beam;
  int32_t priority = 0;  // lower runs first
  std::optional<std::chrono::nanoseconds> timeout;
  std::string cache_salt;          // prefixes are shared only with requests of the same salt
  std::optional<Pooling> pooling;  // no answer: the pooled hidden states of the prompt
};

// Hears of one request, on the engine thread: calls must be short. on_end() is the last one and
// comes exactly once, also when the engine is destroyed.
class RequestSink {
 public:
  virtual ~RequestSink() = default;
  // The prompt has been computed; before any token.
  virtual void on_prompt(const PromptReport& report) = 0;
  // A token of an answer; `logprobs` when asked. False ends this answer (a stop string).
  virtual bool on_token(int32_t choice, TokenId id, const PositionLogprobs* logprobs) = 0;
  // The answer to a request with `pooling`, [hidden]; instead of tokens and on_finish().
  virtual void on_embedding(std::span<const float> /*embedding*/) {}
  // An answer is over. The token that stopped it, if one did, was not handed to on_token().
  virtual void on_finish(int32_t choice, FinishReason reason) = 0;
  // ok, or why the request failed.
  virtual void on_end(const Status& status) = 0;
};

}  // namespace ingot

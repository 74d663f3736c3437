// SPDX-License-Identifier: Apache-2.0
// How many tokens a request took and made, and how fast: what replies tell as `usage` and
// `timings`. Counted from the engine's events, so streams and whole replies tell the same.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "ingot/engine.h"

namespace ingot {

struct AnswerCounts {
  int64_t prompt_tokens = 0;
  int64_t reused_tokens = 0;
  int64_t generated_tokens = 0;
  int64_t reasoning_tokens = 0;  // of the generated ones
  double prompt_seconds = 0;     // the slowest prompt's
  std::optional<std::chrono::steady_clock::time_point> first_token = {};
  std::chrono::steady_clock::time_point last_token = {};

  // The prompts' tokens are known before their events come: the caller sets them.
  void take(const TextEvent& event);
};

Json usage_json(const AnswerCounts& counts);
void append_usage(std::string& out, const AnswerCounts& counts);  // the same text
// llama-server's: prompt_n, prompt_ms, predicted_n ... The speed of generation is that between the
// first token and the last.
Json timings_json(const AnswerCounts& counts);

}  // namespace ingot

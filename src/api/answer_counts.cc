// SPDX-License-Identifier: Apache-2.0
#include "api/answer_counts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json_text.h"

namespace ingot {

void AnswerCounts::take(const TextEvent& event) {
  switch (event.kind) {
    case TextEvent::Kind::kEmbedding:
      break;
    case TextEvent::Kind::kPrompt:
      if (event.prompt == nullptr) return;
      reused_tokens += event.prompt->reused_tokens;
      prompt_seconds = std::max(prompt_seconds, event.prompt->prompt_seconds);
      return;
    case TextEvent::Kind::kToken:
      ++generated_tokens;
      if (!first_token) first_token = event.time;
      last_token = std::max(last_token, event.time);
      return;
    case TextEvent::Kind::kFinish:
      return;
  }
}

void append_usage(std::string& out, const AnswerCounts& counts) {
  out += R"({"prompt_tokens":)";
  append_json_integer(out, counts.prompt_tokens);
  out += R"(,"completion_tokens":)";
  append_json_integer(out, counts.generated_tokens);
  out += R"(,"total_tokens":)";
  append_json_integer(out, counts.prompt_tokens + counts.generated_tokens);
  out += R"(,"prompt_tokens_details":{"cached_tokens":)";
  append_json_integer(out, counts.reused_tokens);
  out += R"(},"completion_tokens_details":{"reasoning_tokens":)";
  append_json_integer(out, counts.reasoning_tokens);
  out += "}}";
}

Json usage_json(const AnswerCounts& counts) {
  return {{"prompt_tokens", counts.prompt_tokens},
          {"completion_tokens", counts.generated_tokens},
          {"total_tokens", counts.prompt_tokens + counts.generated_tokens},
          {"prompt_tokens_details", {{"cached_tokens", counts.reused_tokens}}},
          {"completion_tokens_details", {{"reasoning_tokens", counts.reasoning_tokens}}}};
}

Json timings_json(const AnswerCounts& counts) {
  const auto speed = [](int64_t tokens, double seconds) {
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0.0;
  };
  const int64_t computed = counts.prompt_tokens - counts.reused_tokens;
  const double seconds =
      counts.first_token
          ? std::chrono::duration<double>(counts.last_token - *counts.first_token).count()
          : 0;
  return {{"cache_n", counts.reused_tokens},
          {"prompt_n", computed},
          {"prompt_ms", counts.prompt_seconds * 1e3},
          {"prompt_per_second", speed(computed, counts.prompt_seconds)},
          {"predicted_n", counts.generated_tokens},
          {"predicted_ms", seconds * 1e3},
          {"predicted_per_second", speed(counts.generated_tokens - 1, seconds)}};
}

}  // namespace ingot

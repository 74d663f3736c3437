// SPDX-License-Identifier: Apache-2.0
// A request while its body is read: what the fields have said so far, before they are put together.
// Between openai_field.cc, which fills it, and openai_request.cc, which finishes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/openai_request.h"

namespace ingot {

struct OpenAiDraft {
  explicit OpenAiDraft(const OpenAiParser& reader) : parser(reader) {}

  const OpenAiParser& parser;
  OpenAiRequest result;
  TextRequest text;  // all but the prompt

  // Prompts: one of these.
  std::vector<std::string> prompts;
  std::vector<std::vector<TokenId>> prompt_ids;
  // Fields whose meaning depends on others.
  std::optional<int64_t> max_tokens, max_completion_tokens;
  std::optional<int64_t> seed;
  std::optional<bool> wants_logprobs;
  std::optional<int32_t> top_logprobs, prompt_logprobs;
  std::optional<std::string> tool_choice;
  std::optional<bool> parallel_tool_calls;
  std::vector<std::string> tool_names;
  bool includes_reasoning = true;
  std::optional<bool> add_generation_prompt;
  std::optional<int64_t> truncate_prompt_tokens;
  bool truncates_right = false;
  std::optional<std::vector<std::string>> breakers;
  bool uses_beams = false;
  std::optional<int32_t> beam_width;
  BeamOptions beam;
  bool gives_penalty = false;
  bool gives_window = false;  // repeat_last_n
  bool gives_penalize_prompt = false;
  std::string reasoning_effort;
};

enum class FieldUse : uint8_t { kTaken, kUnknown };
// Reads one field into the draft. The error's message begins with the field's name.
Result<FieldUse> read_openai_field(OpenAiDraft& draft, std::string_view name, const Json& value);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// Readers of the fields that make the prompt.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/json_values.h"
#include "api/openai_messages.h"
#include "api/openai_readers.h"
#include "base/limits.h"

namespace ingot {

Status read_messages(OpenAiDraft& draft, const Json& value) {
  INGOT_TRY(const Json messages, template_messages(value));
  draft.text.messages = dump_json(messages);
  return Status::ok();
}

Status read_prompt(OpenAiDraft& draft, const Json& value) {
  if (value.is_string()) {
    draft.prompts = {value.get<std::string>()};
    return Status::ok();
  }
  if (!value.is_array() || value.empty()) {
    return Status::invalid_argument(
        "must be a string, a list of strings, a list of token ids, or a list of such lists");
  }
  const int64_t vocab = draft.parser.defaults().vocab;
  const auto read_ids = [&](const Json& list) -> Status {
    INGOT_TRY(std::vector<TokenId> ids, ids_of(list, vocab, limits::kJsonNodes));
    if (ids.empty()) return Status::invalid_argument("holds an empty list of token ids");
    draft.prompt_ids.push_back(std::move(ids));
    return Status::ok();
  };
  if (value.front().is_number()) return read_ids(value);
  if (value.size() > limits::kRequestPrompts) {
    return Status::invalid_argument("has {} entries but may have {}", value.size(),
                                    limits::kRequestPrompts);
  }
  for (const Json& entry : value) {
    if (entry.type() != value.front().type())
      return Status::invalid_argument("mixes strings and token ids");
    if (entry.is_string()) {
      draft.prompts.push_back(entry.get<std::string>());
    } else {
      INGOT_TRY(read_ids(entry));
    }
  }
  return Status::ok();
}

Status read_model(OpenAiDraft& draft, const Json& value) {
  draft.result.model = value.get<std::string>();
  return Status::ok();
}

Status read_tools(OpenAiDraft& draft, const Json& value) {
  INGOT_TRY(const Json tools, template_tools(value));
  draft.text.tools = tools.empty() ? "" : dump_json(tools);
  for (const Json& tool : tools)
    draft.tool_names.push_back(tool["function"]["name"].get<std::string>());
  return Status::ok();
}

Status read_tool_choice(OpenAiDraft& draft, const Json& value) {
  if (!value.is_string() || (value != "none" && value != "auto")) {
    return Status::unsupported(
        "can be 'none' or 'auto': a call cannot be forced as long as output cannot be constrained");
  }
  draft.tool_choice = value.get<std::string>();
  return Status::ok();
}

Status read_template_kwargs(OpenAiDraft& draft, const Json& value) {
  draft.text.template_kwargs = value.empty() ? "" : dump_json(value);
  return Status::ok();
}

Status read_effort(OpenAiDraft& draft, const Json& value) {
  constexpr std::array<std::string_view, 7> kEfforts = {"none", "minimal", "low", "medium",
                                                        "high", "xhigh",   "max"};
  draft.reasoning_effort = value.get<std::string>();
  if (std::ranges::find(kEfforts, draft.reasoning_effort) != kEfforts.end()) return Status::ok();
  return Status::invalid_argument("must be one of none, minimal, low, medium, high, xhigh and max");
}

Status read_add_special(OpenAiDraft& draft, const Json& value) {
  draft.text.add_special = value.get<bool>();
  return Status::ok();
}

Status read_truncation_side(OpenAiDraft& draft, const Json& value) {
  if (value != "left" && value != "right")
    return Status::invalid_argument("must be 'left' or 'right'");
  draft.truncates_right = value == "right";
  return Status::ok();
}

}  // namespace ingot

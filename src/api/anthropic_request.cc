// SPDX-License-Identifier: Apache-2.0
#include "api/anthropic_request.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "api/anthropic_messages.h"
#include "api/json_values.h"
#include "api/protocol_body.h"
#include "base/limits.h"

namespace ingot {
namespace {

struct Draft {
  Json chat = Json::object();  // the request in OpenAI's form
  Json system;
  Json messages;
  std::optional<int64_t> max_tokens;
  bool hides_thinking = false;  // thinking is disabled
  bool tells_thinking = false;  // asked for
  bool has_budget = false;      // of tokens for it
};

// --- Fields with a reader of their own. Errors continue a sentence that the name begins. ---

Status read_max_tokens(Draft& draft, const Json& value) {
  INGOT_TRY(draft.max_tokens, integer_of(value, 0, std::numeric_limits<int32_t>::max()));
  return Status::ok();
}

Status read_tools(Draft& draft, const Json& value) {
  INGOT_TRY(draft.chat["tools"], anthropic_tools(value));
  return Status::ok();
}

Status read_tool_choice(Draft& draft, const Json& value) {
  const Json* type = value.is_object() ? find(value, "type") : nullptr;
  if (type == nullptr || !type->is_string())
    return Status::invalid_argument("must be an object with a type");
  if (const Json* single = find(value, "disable_parallel_tool_use"); single != nullptr) {
    INGOT_TRY(const bool is_single, bool_of(*single));
    draft.chat["parallel_tool_calls"] = !is_single;
  }
  if (*type == "auto" || *type == "none") {
    draft.chat["tool_choice"] = *type;
    return Status::ok();
  }
  if (*type == "any" || *type == "tool") {
    return Status::unsupported("of the type '{}' is not supported: a tool cannot be forced yet",
                               type->get<std::string>());
  }
  return Status::invalid_argument("must have the type 'auto', 'any', 'tool' or 'none'");
}

Status read_metadata(Draft& /*draft*/, const Json& value) {
  if (!value.is_object()) return Status::invalid_argument("must be an object");
  const Json* user = find(value, "user_id");
  if (user == nullptr) return Status::ok();
  const Result<std::string> id = text_of(*user, limits::kRequestNameBytes);
  if (!id.is_ok()) return Status::invalid_argument("has a user_id that {}", id.status().message());
  return Status::ok();
}

// Thoughts are told where they are asked for; how many tokens they take is the model's.
Status read_thinking(Draft& draft, const Json& value) {
  const Json* type = value.is_object() ? find(value, "type") : nullptr;
  if (type == nullptr || !type->is_string())
    return Status::invalid_argument("must be an object with a type");
  draft.hides_thinking = *type == "disabled";
  draft.tells_thinking = *type == "enabled" || *type == "adaptive";
  draft.has_budget = find(value, "budget_tokens") != nullptr;
  if (draft.hides_thinking || draft.tells_thinking) return Status::ok();
  return Status::invalid_argument("must have the type 'enabled', 'adaptive' or 'disabled'");
}

Status read_output_config(Draft& draft, const Json& value) {
  if (!value.is_object()) return Status::invalid_argument("must be an object");
  if (find(value, "format") != nullptr)
    return Status::unsupported("has a format, but output cannot be constrained yet");
  if (const Json* effort = find(value, "effort"); effort != nullptr)
    draft.chat["reasoning_effort"] = *effort;
  return Status::ok();
}

struct ReaderField {
  std::string_view name;
  Status (*read)(Draft& draft, const Json& value);
};

Status keep_system(Draft& draft, const Json& value) {
  draft.system = value;
  return Status::ok();
}

Status keep_messages(Draft& draft, const Json& value) {
  draft.messages = value;
  return Status::ok();
}

constexpr std::array kReaders = std::to_array<ReaderField>({
    {"system", keep_system},
    {"messages", keep_messages},
    {"max_tokens", read_max_tokens},
    {"tools", read_tools},
    {"tool_choice", read_tool_choice},
    {"metadata", read_metadata},
    {"thinking", read_thinking},
    {"output_config", read_output_config},
});

// --- Fields that OpenAI's form, or ours, has too; the second name is theirs. ---

using NamePair = std::pair<std::string_view, std::string_view>;
constexpr std::array kSame = std::to_array<NamePair>({
    {"model", "model"},
    {"stream", "stream"},
    {"stop_sequences", "stop"},
    {"temperature", "temperature"},
    {"top_p", "top_p"},
    {"top_k", "top_k"},
    // Not Anthropic's: what people want of a server of their own.
    {"min_p", "min_p"},
    {"seed", "seed"},
    {"presence_penalty", "presence_penalty"},
    {"frequency_penalty", "frequency_penalty"},
    {"repetition_penalty", "repetition_penalty"},
    {"chat_template_kwargs", "chat_template_kwargs"},
    {"priority", "priority"},
    {"cache_salt", "cache_salt"},
});

// What an error about a field of OpenAI's form is told as.
constexpr std::array kTheirNames = std::to_array<NamePair>({
    {"stop", "stop_sequences"},
    {"parallel_tool_calls", "tool_choice.disable_parallel_tool_use"},
    {"reasoning_effort", "output_config.effort"},
});

// --- Fields that change nothing: who asks, how it is billed, hints about caches. ---

constexpr std::array<std::string_view, 7> kQuiet = {
    "service_tier", "inference_geo",   "cache_control", "speed",
    "diagnostics",  "user_profile_id", "workspace_id"};

struct RefusedField {
  std::string_view name;
  std::string_view reason;
};

constexpr std::array kRefused = std::to_array<RefusedField>({
    {"container", "there are no containers"},
    {"mcp_servers", "this server calls no others; offer their tools as tools"},
    {"output_format", "output cannot be constrained yet"},
});

// An empty list or object asks for nothing.
bool is_empty(const Json& value) {
  return value.is_null() || (value.is_structured() && value.empty());
}

// False: nobody knows the field.
Result<bool> read_field(Draft& draft, std::string_view name, const Json& value) {
  const auto has_name = [&](const auto& field) { return field.name == name; };
  const auto reader = std::ranges::find_if(kReaders, has_name);
  const auto same = std::ranges::find(kSame, name, &NamePair::first);
  const auto refused = std::ranges::find_if(kRefused, has_name);
  const bool is_quiet = std::ranges::find(kQuiet, name) != kQuiet.end();
  if (reader == kReaders.end() && same == kSame.end() && refused == kRefused.end() && !is_quiet)
    return false;
  if (value.is_null() || is_quiet) return true;
  if (same != kSame.end()) draft.chat[std::string(same->second)] = value;
  Status status;
  if (reader != kReaders.end()) status = reader->read(draft, value);
  if (refused != kRefused.end() && !is_empty(value))
    status = Status::unsupported("is not supported: {}", refused->reason);
  if (status.is_ok()) return true;
  return Status(status.code(), fmt::format("{} {}", name, status.message()));
}

// Errors of the conversation begin with the field.
Status finish(Draft& draft, AnthropicEndpoint endpoint) {
  if (draft.messages.is_null()) return Status::invalid_argument("messages is missing");
  if (!draft.max_tokens && endpoint == AnthropicEndpoint::kMessages)
    return Status::invalid_argument("max_tokens is missing");
  INGOT_TRY(draft.chat["messages"], anthropic_chat(draft.system, draft.messages));
  draft.chat["include_reasoning"] = draft.tells_thinking;
  if (!draft.hides_thinking) return Status::ok();
  Json& kwargs = draft.chat["chat_template_kwargs"];
  if (kwargs.is_null()) kwargs = Json::object();
  if (kwargs.is_object() && !kwargs.contains("enable_thinking")) kwargs["enable_thinking"] = false;
  return Status::ok();
}

std::string first_word(std::string_view message) {
  return std::string(message.substr(0, message.find_first_of(" [")));
}

}  // namespace

std::variant<OpenAiRequest, OpenAiError> parse_anthropic(const OpenAiParser& parser,
                                                         AnthropicEndpoint endpoint,
                                                         const Json& body) {
  if (!body.is_object())
    return field_error(Status::invalid_argument("the body is not an object"), "");
  Draft draft;
  UnknownFields unknown;
  for (const auto& [name, value] : body.items()) {
    const Result<bool> is_known = read_field(draft, name, value);
    if (!is_known.is_ok()) return field_error(is_known.status(), name);
    if (!*is_known) unknown.add(name);
  }
  if (const Status status = finish(draft, endpoint); !status.is_ok())
    return field_error(status, first_word(status.message()));
  auto result = parser.parse(OpenAiEndpoint::kChat, draft.chat);
  if (auto* error = std::get_if<OpenAiError>(&result))
    return renamed_error(std::move(*error), kTheirNames);
  auto& request = std::get<OpenAiRequest>(result);
  // After the parser, whose least is 1: zero fills the cache and answers nothing.
  request.requests.front().max_tokens = draft.max_tokens.value_or(1);
  request.warnings = unknown.take_warnings();
  if (draft.has_budget)
    request.warnings.emplace_back(
        "thinking.budget_tokens is not kept; max_tokens bounds all of it");
  return result;
}

std::variant<OpenAiRequest, OpenAiError> parse_anthropic_text(const OpenAiParser& parser,
                                                              AnthropicEndpoint endpoint,
                                                              std::string_view body) {
  std::variant<Json, OpenAiError> json = parse_body(body);
  if (auto* error = std::get_if<OpenAiError>(&json)) return std::move(*error);
  return parse_anthropic(parser, endpoint, std::get<Json>(json));
}

Result<Json> anthropic_count(const TextEngine& engine, const OpenAiRequest& request) {
  INGOT_TRY(const std::vector<TokenId> ids, engine.prompt_ids(request.requests.front()));
  return Json{{"input_tokens", ids.size()}};
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "api/ollama_request.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "api/json_values.h"
#include "api/ollama_messages.h"
#include "api/protocol_body.h"
#include "base/limits.h"

namespace ingot {
namespace {

constexpr std::string_view kLatest = ":latest";
constexpr int32_t kPenaltyWindow = 64;  // Ollama's repeat_last_n

struct Draft {
  OllamaRequest result;
  Json body = Json::object();  // the request in OpenAI's form
  Json kwargs = Json::object();
  Json messages = Json::array();  // of a chat
  std::string prompt, system;     // of /api/generate
  bool is_raw = false;
  bool streams = true;
  bool wants_logprobs = false;
  int64_t top_logprobs = 0;
  int64_t max_tokens = -1;
  bool gives_penalty = false;
  UnknownFields unknown;
  std::vector<std::string> warnings;
};

// --- options: those that OpenAI's form, or ours, has too; the second name is theirs. ---

using NamePair = std::pair<std::string_view, std::string_view>;
constexpr std::array kOptions = std::to_array<NamePair>({
    {"options.temperature", "temperature"},
    {"options.top_k", "top_k"},
    {"options.top_p", "top_p"},
    {"options.min_p", "min_p"},
    {"options.typical_p", "typical_p"},
    {"options.repeat_penalty", "repetition_penalty"},
    {"options.repeat_last_n", "repeat_last_n"},
    {"options.presence_penalty", "presence_penalty"},
    {"options.frequency_penalty", "frequency_penalty"},
    {"options.mirostat", "mirostat"},
    {"options.mirostat_tau", "mirostat_tau"},
    {"options.mirostat_eta", "mirostat_eta"},
    {"options.stop", "stop"},
});

// How Ollama loads a model; this server has loaded its own.
constexpr std::array<std::string_view, 15> kLoadOptions = {
    "num_keep",   "num_batch",  "num_gpu",        "main_gpu",         "num_thread",
    "use_mmap",   "use_mlock",  "numa",           "low_vram",         "f16_kv",
    "logits_all", "vocab_only", "embedding_only", "penalize_newline", "draft_num_predict"};

Status read_option(Draft& draft, std::string_view name, const Json& value) {
  if (value.is_null()) return Status::ok();
  if (name == "num_predict") {
    INGOT_TRY(const int64_t count, integer_of(value, std::numeric_limits<int32_t>::min(),
                                              std::numeric_limits<int32_t>::max()));
    draft.max_tokens = count > 0 ? count : -1;
    return Status::ok();
  }
  if (name == "seed") {
    INGOT_TRY(const int64_t seed, integer_of(value, std::numeric_limits<int64_t>::min(),
                                             std::numeric_limits<int64_t>::max()));
    if (seed >= 0) draft.body["seed"] = seed;  // below: drawn
    return Status::ok();
  }
  if (name == "num_ctx" || name == "tfs_z") {
    INGOT_TRY(number_of(value, -1e18, 1e18));
    draft.warnings.emplace_back(name == "num_ctx"
                                    ? "options.num_ctx is ignored: the server sets the context"
                                    : "options.tfs_z is ignored: there is no such sampler");
    return Status::ok();
  }
  const auto option = std::ranges::find_if(kOptions, [&](const NamePair& pair) {
    return pair.first.substr(pair.first.find('.') + 1) == name;
  });
  if (option == kOptions.end()) {
    if (std::ranges::find(kLoadOptions, name) == kLoadOptions.end())
      draft.unknown.add(fmt::format("options.{}", name));
    return Status::ok();
  }
  if (name == "stop" && value.is_array() && value.empty()) return Status::ok();
  draft.gives_penalty |= name.ends_with("_penalty");
  draft.body[std::string(option->second)] = value;
  return Status::ok();
}

Status read_options(Draft& draft, const Json& value) {
  if (!value.is_object()) return Status::invalid_argument("must be an object");
  for (const auto& [name, option] : value.items()) {
    const Status status = read_option(draft, name, option);
    if (!status.is_ok()) {
      return Status(status.code(), fmt::format("has a {} that {}", name, status.message()));
    }
  }
  return Status::ok();
}

// --- Other fields with a reader of their own. ---

template <std::string Draft::*kMember>
Status read_text(Draft& draft, const Json& value) {
  INGOT_TRY(draft.*kMember, text_of(value, limits::kRequestBytes));
  return Status::ok();
}

template <bool Draft::*kMember>
Status read_flag(Draft& draft, const Json& value) {
  INGOT_TRY(draft.*kMember, bool_of(value));
  return Status::ok();
}

Status read_model(Draft& draft, const Json& value) {
  INGOT_TRY(draft.result.model, text_of(value, limits::kRequestNameBytes));
  draft.body["model"] = served_name(draft.result.model);
  return Status::ok();
}

Status read_messages(Draft& draft, const Json& value) {
  if (!value.is_array()) return Status::invalid_argument("must be a list");
  draft.messages = value;
  return Status::ok();
}

Status read_tools(Draft& draft, const Json& value) {
  if (!value.is_array()) return Status::invalid_argument("must be a list");
  if (!value.empty()) draft.body["tools"] = value;
  return Status::ok();
}

// What a template makes of it is the model's affair.
Status read_think(Draft& draft, const Json& value) {
  if (value.is_boolean()) {
    draft.kwargs["enable_thinking"] = value;
    return Status::ok();
  }
  if (value != "low" && value != "medium" && value != "high" && value != "max")
    return Status::invalid_argument("must be true, false, 'low', 'medium', 'high' or 'max'");
  draft.kwargs["enable_thinking"] = true;
  draft.body["reasoning_effort"] = value;
  return Status::ok();
}

// A number of seconds, or a text such as "5m"; 0 unloads.
Status read_keep_alive(Draft& draft, const Json& value) {
  if (value.is_string()) {
    INGOT_TRY(const std::string text, text_of(value, limits::kRequestNameBytes));
    draft.result.is_unload = text == "0" || text == "0s" || text == "0m";
  } else {
    INGOT_TRY(const double seconds, number_of(value, -1e18, 1e18));
    draft.result.is_unload = seconds == 0;
  }
  return Status::ok();
}

Status read_top_logprobs(Draft& draft, const Json& value) {
  INGOT_TRY(draft.top_logprobs, integer_of(value, 0, limits::kRequestLogprobs));
  return Status::ok();
}

constexpr uint8_t kChat = 1;
constexpr uint8_t kGenerate = 2;
constexpr uint8_t kBoth = kChat | kGenerate;

struct ReaderField {
  std::string_view name;
  uint8_t endpoints;
  Status (*read)(Draft& draft, const Json& value);
};

constexpr std::array kReaders = std::to_array<ReaderField>({
    {"model", kBoth, read_model},
    {"messages", kChat, read_messages},
    {"tools", kChat, read_tools},
    {"prompt", kGenerate, read_text<&Draft::prompt>},
    {"system", kGenerate, read_text<&Draft::system>},
    {"raw", kGenerate, read_flag<&Draft::is_raw>},
    {"options", kBoth, read_options},
    {"think", kBoth, read_think},
    {"stream", kBoth, read_flag<&Draft::streams>},
    {"keep_alive", kBoth, read_keep_alive},
    {"logprobs", kBoth, read_flag<&Draft::wants_logprobs>},
    {"top_logprobs", kBoth, read_top_logprobs},
});

// Contexts are never shifted, and a prompt that is too long is refused.
constexpr std::array<std::string_view, 2> kQuiet = {"truncate", "shift"};

struct RefusedField {
  std::string_view name;
  std::string_view reason;
};

constexpr std::array kRefused = std::to_array<RefusedField>({
    {"format", "output cannot be constrained yet"},
    {"template", "templates come with the model, not with a request"},
    {"suffix", "text cannot be inserted before a suffix"},
    {"context", "send the conversation to /api/chat"},
    {"images", "only text is supported"},
    {"width", "only text can be generated"},
    {"height", "only text can be generated"},
    {"steps", "only text can be generated"},
});

// Clients send fields that they do not use as empty.
bool is_empty(const Json& value) {
  return value.is_null() || value == "" || value == 0 || (value.is_structured() && value.empty());
}

// Errors begin with the field's name.
Status read_field(Draft& draft, std::string_view name, const Json& value) {
  const uint8_t endpoint = draft.result.endpoint == OllamaEndpoint::kChat ? kChat : kGenerate;
  const auto reader = std::ranges::find_if(kReaders, [&](const ReaderField& field) {
    return field.name == name && (field.endpoints & endpoint) != 0;
  });
  const auto refused = std::ranges::find(kRefused, name, &RefusedField::name);
  Status status;
  if (reader != kReaders.end()) {
    if (!value.is_null()) status = reader->read(draft, value);
  } else if (refused != kRefused.end()) {
    if (!is_empty(value)) status = Status::unsupported("is not supported: {}", refused->reason);
  } else if (std::ranges::find(kQuiet, name) == kQuiet.end()) {
    draft.unknown.add(name);
  }
  if (status.is_ok()) return status;
  return Status(status.code(), fmt::format("{} {}", name, status.message()));
}

// --- The prompt. ---

Status finish_chat(Draft& draft) {
  const Result<Json> messages = ollama_chat(draft.messages);
  if (!messages.is_ok())
    return Status(messages.status().code(), "messages" + messages.status().message());
  draft.body["messages"] = *messages;
  return Status::ok();
}

Status finish_generate(Draft& draft, bool has_template) {
  if (draft.is_raw && !draft.system.empty())
    return Status::unsupported("system is not supported with raw: write it into the prompt");
  if (draft.is_raw || !has_template) {
    if (!draft.system.empty()) draft.system += "\n\n";
    draft.body["prompt"] = draft.system + draft.prompt;
    return Status::ok();
  }
  Json messages = Json::array();
  if (!draft.system.empty()) messages.push_back({{"role", "system"}, {"content", draft.system}});
  messages.push_back({{"role", "user"}, {"content", draft.prompt}});
  draft.body["messages"] = std::move(messages);
  return Status::ok();
}

void finish_fields(Draft& draft) {
  const bool is_chat = draft.body.contains("messages");
  if (draft.wants_logprobs) {
    draft.body["logprobs"] = is_chat ? Json(true) : Json(draft.top_logprobs);
    if (is_chat) draft.body["top_logprobs"] = draft.top_logprobs;
  }
  if (is_chat && !draft.kwargs.empty()) draft.body["chat_template_kwargs"] = draft.kwargs;
  if (!is_chat) draft.body.erase("reasoning_effort");
  if (draft.gives_penalty) {  // as llama.cpp counts: a window over prompt and answer
    draft.body["penalize_prompt"] = true;
    if (!draft.body.contains("repeat_last_n")) draft.body["repeat_last_n"] = kPenaltyWindow;
  }
}

OpenAiError named_error(const Status& status) {
  const std::string& message = status.message();
  return field_error(status, message.substr(0, message.find_first_of(" [")));
}

// The option by which an error of the request in OpenAI's form is known to the client.
OpenAiError option_error(OpenAiError error) {
  const auto option = std::ranges::find(kOptions, error.param, &NamePair::second);
  if (option == kOptions.end()) return error;
  const std::array<NamePair, 1> names = {{{option->second, option->first}}};
  return renamed_error(std::move(error), names);
}

}  // namespace

std::string ollama_name(std::string_view served) {
  std::string name(served);
  if (name.find(':') == std::string::npos) name += kLatest;
  return name;
}

std::string served_name(std::string_view ollama) {
  if (ollama.ends_with(kLatest)) ollama.remove_suffix(kLatest.size());
  return std::string(ollama);
}

std::variant<OllamaRequest, OpenAiError> parse_ollama(const OpenAiParser& parser,
                                                      OllamaEndpoint endpoint, const Json& body,
                                                      bool has_template) {
  if (!body.is_object())
    return field_error(Status::invalid_argument("the body is not an object"), "");
  Draft draft;
  draft.result.endpoint = endpoint;
  for (const auto& [name, value] : body.items()) {
    const Status status = read_field(draft, name, value);
    if (!status.is_ok()) return field_error(status, name);
  }
  if (draft.result.model.empty())
    return field_error(Status::invalid_argument("model is missing"), "model");
  OllamaRequest& result = draft.result;
  result.chat.model = served_name(result.model);
  result.chat.streams = draft.streams;
  result.is_load =
      endpoint == OllamaEndpoint::kChat ? draft.messages.empty() : draft.prompt.empty();
  if (result.is_load) return std::move(result);
  result.is_unload = false;

  const Status status =
      endpoint == OllamaEndpoint::kChat ? finish_chat(draft) : finish_generate(draft, has_template);
  if (!status.is_ok()) return named_error(status);
  finish_fields(draft);
  auto chat = parser.parse(
      draft.body.contains("messages") ? OpenAiEndpoint::kChat : OpenAiEndpoint::kCompletions,
      draft.body);
  if (auto* error = std::get_if<OpenAiError>(&chat)) return option_error(std::move(*error));
  result.chat = std::get<OpenAiRequest>(std::move(chat));
  result.chat.streams = draft.streams;
  result.chat.requests.front().max_tokens = draft.max_tokens;
  result.chat.warnings = draft.unknown.take_warnings();
  std::ranges::move(draft.warnings, std::back_inserter(result.chat.warnings));
  return std::move(result);
}

std::variant<OllamaRequest, OpenAiError> parse_ollama_text(const OpenAiParser& parser,
                                                           OllamaEndpoint endpoint,
                                                           std::string_view body,
                                                           bool has_template) {
  std::variant<Json, OpenAiError> json = parse_body(body);
  if (auto* error = std::get_if<OpenAiError>(&json)) return std::move(*error);
  return parse_ollama(parser, endpoint, std::get<Json>(json), has_template);
}

}  // namespace ingot

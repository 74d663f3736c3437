// SPDX-License-Identifier: Apache-2.0
#include "api/embeddings_request.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/json_values.h"
#include "api/protocol_body.h"

namespace ingot {
namespace {

struct Draft {
  EmbeddingsRequest result;
  const EmbeddingsLimits& model;
};

Status read_model(Draft& draft, const Json& value) {
  INGOT_TRY(draft.result.model, text_of(value, limits::kRequestNameBytes));
  return Status::ok();
}

Status add_text(Draft& draft, const Json& value) {
  INGOT_TRY(std::string text, text_of(value, limits::kRequestBytes));
  if (text.empty()) return Status::invalid_argument("holds an empty text");
  draft.result.texts.push_back(std::move(text));
  return Status::ok();
}

// Ids of another vocabulary would be embedded as nonsense, so clients that count with tiktoken are
// told what to do.
Status add_ids(Draft& draft, const Json& value) {
  Result<std::vector<TokenId>> ids = ids_of(value, draft.model.vocab, limits::kJsonNodes);
  if (!ids.is_ok()) {
    return Status::invalid_argument(
        "{}; token ids must be this model's own: a client that makes them with tiktoken must send "
        "text instead (LangChain: check_embedding_ctx_length=False)",
        ids.status().message());
  }
  if (ids->empty()) return Status::invalid_argument("holds an empty list of token ids");
  draft.result.ids.push_back(*std::move(ids));
  return Status::ok();
}

Status read_input(Draft& draft, const Json& value) {
  if (value.is_string()) return add_text(draft, value);
  const bool takes_ids = draft.result.endpoint == EmbeddingsEndpoint::kOpenAi;
  if (!value.is_array() || value.empty()) {
    return Status::invalid_argument(
        "must be a string, a list of strings{}",
        takes_ids ? ", a list of token ids, or a list of such lists" : "");
  }
  if (takes_ids && value.front().is_number()) return add_ids(draft, value);
  if (value.size() > limits::kEmbeddingInputs) {
    return Status::invalid_argument("has {} entries but may have {}", value.size(),
                                    limits::kEmbeddingInputs);
  }
  for (const Json& entry : value) {
    if (entry.type() != value.front().type())
      return Status::invalid_argument("mixes texts and other values");
    if (takes_ids && entry.is_array()) {
      INGOT_TRY(add_ids(draft, entry));
    } else {
      INGOT_TRY(add_text(draft, entry));
    }
  }
  return Status::ok();
}

// /api/embeddings takes a single text.
Status read_prompt(Draft& draft, const Json& value) {
  return add_text(draft, value);
}

Status read_dimensions(Draft& draft, const Json& value) {
  INGOT_TRY(draft.result.dimensions, integer_of(value, 1, draft.model.dimensions));
  return Status::ok();
}

Status read_format(Draft& draft, const Json& value) {
  if (value != "float" && value != "base64")
    return Status::invalid_argument("must be 'float' or 'base64'");
  draft.result.is_base64 = value == "base64";
  return Status::ok();
}

Status read_truncate(Draft& draft, const Json& value) {
  INGOT_TRY(draft.result.truncates, bool_of(value));
  return Status::ok();
}

Status read_user(Draft& /*draft*/, const Json& value) {
  INGOT_TRY(text_of(value, limits::kRequestNameBytes));
  return Status::ok();
}

Status read_options(Draft& /*draft*/, const Json& value) {  // nothing is sampled
  if (!value.is_object()) return Status::invalid_argument("must be an object");
  return Status::ok();
}

Status read_keep_alive(Draft& /*draft*/, const Json& value) {
  if (!value.is_string() && !value.is_number())
    return Status::invalid_argument("must be a number or a string");
  return Status::ok();
}

constexpr uint8_t bit(EmbeddingsEndpoint endpoint) {
  return static_cast<uint8_t>(1U << static_cast<uint8_t>(endpoint));
}
constexpr uint8_t kByOpenAi = bit(EmbeddingsEndpoint::kOpenAi);
constexpr uint8_t kEmbed = bit(EmbeddingsEndpoint::kOllama);
constexpr uint8_t kOne = bit(EmbeddingsEndpoint::kOllamaOne);

struct Field {
  std::string_view name;
  uint8_t endpoints;
  Status (*read)(Draft& draft, const Json& value);
};

constexpr std::array kFields = std::to_array<Field>({
    {"model", kByOpenAi | kEmbed | kOne, read_model},
    {"input", kByOpenAi | kEmbed, read_input},
    {"prompt", kOne, read_prompt},
    {"dimensions", kByOpenAi | kEmbed, read_dimensions},
    {"encoding_format", kByOpenAi, read_format},
    {"user", kByOpenAi, read_user},
    {"truncate", kEmbed | kOne, read_truncate},
    {"options", kEmbed | kOne, read_options},
    {"keep_alive", kEmbed | kOne, read_keep_alive},
});

const Field* find_field(std::string_view name, EmbeddingsEndpoint endpoint) {
  const auto found = std::ranges::find_if(kFields, [&](const Field& field) {
    return field.name == name && (field.endpoints & bit(endpoint)) != 0;
  });
  return found == kFields.end() ? nullptr : &*found;
}

}  // namespace

std::variant<EmbeddingsRequest, OpenAiError> parse_embeddings(EmbeddingsEndpoint endpoint,
                                                              const Json& body,
                                                              const EmbeddingsLimits& model) {
  if (!body.is_object())
    return field_error(Status::invalid_argument("the body is not an object"), "");
  Draft draft{.result = {.endpoint = endpoint}, .model = model};
  draft.result.truncates = endpoint != EmbeddingsEndpoint::kOpenAi;  // Ollama's default
  UnknownFields unknown;
  for (const auto& [name, value] : body.items()) {
    const Field* field = find_field(name, endpoint);
    if (field == nullptr) {
      unknown.add(name);
    } else if (!value.is_null()) {
      const Status status = field->read(draft, value);
      if (!status.is_ok()) {
        return field_error(Status(status.code(), fmt::format("{} {}", name, status.message())),
                           name);
      }
    }
  }
  if (draft.result.inputs() == 0) {
    const char* name = endpoint == EmbeddingsEndpoint::kOllamaOne ? "prompt" : "input";
    return field_error(Status::invalid_argument("{} is missing", name), name);
  }
  draft.result.warnings = unknown.take_warnings();
  return std::move(draft.result);
}

std::variant<EmbeddingsRequest, OpenAiError> parse_embeddings_text(EmbeddingsEndpoint endpoint,
                                                                   std::string_view body,
                                                                   const EmbeddingsLimits& model) {
  std::variant<Json, OpenAiError> json = parse_body(body);
  if (auto* error = std::get_if<OpenAiError>(&json)) return std::move(*error);
  return parse_embeddings(endpoint, std::get<Json>(json), model);
}

}  // namespace ingot

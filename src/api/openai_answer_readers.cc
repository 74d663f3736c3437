// SPDX-License-Identifier: Apache-2.0
// Readers of the fields that say how answers are made and told.
#include <charconv>
#include <nlohmann/json.hpp>

#include "api/json_values.h"
#include "api/openai_readers.h"
#include "api/token_sequences.h"
#include "base/limits.h"
#include "engine/sampling_params.h"

namespace ingot {

Status read_early_stopping(OpenAiDraft& draft, const Json& value) {
  draft.beam.early_stopping = value.get<bool>();
  return Status::ok();
}

Status read_length_penalty(OpenAiDraft& draft, const Json& value) {
  draft.beam.length_penalty = value.get<double>();
  return Status::ok();
}

Status read_stop(OpenAiDraft& draft, const Json& value) {
  INGOT_TRY(draft.text.stop, texts_of(value, true));
  return Status::ok();
}

Status read_stop_ids(OpenAiDraft& draft, const Json& value) {
  INGOT_TRY(draft.text.sampling.stop_token_ids,
            ids_of(value, draft.parser.defaults().vocab, limits::kRequestBiases));
  return Status::ok();
}

Status read_breakers(OpenAiDraft& draft, const Json& value) {
  INGOT_TRY(draft.breakers, texts_of(value, false));
  return Status::ok();
}

Status read_stages(OpenAiDraft& draft, const Json& value) {
  std::string names;
  if (value.is_array()) {
    INGOT_TRY(const std::vector<std::string> list, texts_of(value, false));
    for (const std::string& name : list)
      names += name + ";";
  } else {
    INGOT_TRY(names, text_of(value, limits::kRequestNameBytes));
  }
  const Result<std::vector<SamplerStage>> stages = parse_stages(names);
  if (!stages.is_ok())
    return Status::invalid_argument("cannot be read: {}", stages.status().message());
  draft.text.sampling.stages = *stages;
  return Status::ok();
}

Status read_logit_bias(OpenAiDraft& draft, const Json& value) {
  const int64_t vocab = draft.parser.defaults().vocab;
  std::vector<std::pair<TokenId, float>> biases;
  for (const auto& [key, bias] : value.items()) {
    TokenId id = -1;
    const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (problem != std::errc() || end != key.data() + key.size() || id < 0 || id >= vocab) {
      return Status::invalid_argument("has the key '{}', not a token id of the vocabulary [0, {})",
                                      key.substr(0, limits::kRequestStringBytes), vocab);
    }
    INGOT_TRY(const double number, number_of(bias, -100, 100));
    biases.emplace_back(id, static_cast<float>(number));
  }
  draft.text.sampling.logit_bias = std::move(biases);
  return Status::ok();
}

Status read_bad_words(OpenAiDraft& draft, const Json& value) {
  INGOT_TRY(const std::vector<std::string> words, texts_of(value, false));
  if (words.empty()) return Status::ok();
  const Tokenizer* tokenizer = draft.parser.defaults().tokenizer.get();
  if (tokenizer == nullptr) return Status::invalid_argument("needs a model with a tokenizer");
  INGOT_TRY(draft.text.sampling.bad_words, bad_word_ids(*tokenizer, words));
  return validate(draft.text.sampling);
}

Status read_allowed_ids(OpenAiDraft& draft, const Json& value) {
  if (value.empty()) return Status::invalid_argument("allows no token at all");
  INGOT_TRY(draft.text.sampling.allowed_token_ids,
            ids_of(value, draft.parser.defaults().vocab, limits::kJsonNodes));
  return Status::ok();
}

// Completions say how many, not whether; false is taken for none.
Status read_completion_logprobs(OpenAiDraft& draft, const Json& value) {
  if (value.is_boolean() && !value.get<bool>()) return Status::ok();
  INGOT_TRY(const int64_t most, integer_of(value, 0, limits::kRequestLogprobs));
  draft.wants_logprobs = true;
  draft.top_logprobs = static_cast<int32_t>(most);
  return Status::ok();
}

Status read_stream_options(OpenAiDraft& draft, const Json& value) {
  const auto read = [&](const char* name, bool& out) -> Status {
    const auto option = value.find(name);
    if (option == value.end() || option->is_null()) return Status::ok();
    INGOT_TRY(out, bool_of(*option));
    return Status::ok();
  };
  INGOT_TRY(read("include_usage", draft.result.includes_usage));
  return read("continuous_usage_stats", draft.result.continuous_usage);
}

Status read_response_format(OpenAiDraft& /*draft*/, const Json& value) {
  const auto type = value.find("type");
  if (type == value.end() || !type->is_string())
    return Status::invalid_argument("must be an object with a type");
  if (*type == "text") return Status::ok();
  return Status::unsupported("of the type '{}' cannot be enforced yet; only 'text' is supported",
                             type->get<std::string>().substr(0, limits::kRequestStringBytes));
}

Status read_cache_salt(OpenAiDraft& draft, const Json& value) {
  draft.text.cache_salt = value.get<std::string>();
  if (draft.text.cache_salt.empty()) return Status::invalid_argument("must not be empty");
  return Status::ok();
}

Status check_metadata(OpenAiDraft& /*draft*/, const Json& value) {
  for (const auto& [key, entry] : value.items()) {
    INGOT_TRY(text_of(entry, limits::kRequestNameBytes));
    if (key.size() > limits::kRequestStringBytes)
      return Status::invalid_argument("has a key of {} bytes", key.size());
  }
  return Status::ok();
}

}  // namespace ingot

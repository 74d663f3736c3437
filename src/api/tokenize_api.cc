// SPDX-License-Identifier: Apache-2.0
#include "api/tokenize_api.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "api/json_values.h"
#include "api/openai_messages.h"
#include "api/protocol_body.h"
#include "api/token_text.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "engine/sampling_params.h"

namespace ingot {
namespace {

Status field_status(std::string_view field, const Status& status) {
  return Status(status.code(), fmt::format("{} {}", field, status.message()));
}

Result<bool> flag_in(const Json& body, std::string_view key, bool usual) {
  const Json* value = find(body, key);
  if (value == nullptr) return usual;
  Result<bool> flag = bool_of(*value);
  if (!flag.is_ok()) return field_status(key, flag.status());
  return flag;
}

Result<std::string> text_field(const Json& body, std::string_view key) {
  const Json* value = find(body, key);
  if (value == nullptr) return Status::invalid_argument("{} is missing", key);
  Result<std::string> text = text_of(*value, limits::kRequestBytes);
  if (!text.is_ok()) return field_status(key, text.status());
  return text;
}

// A field that is refused unless it says what is so anyway.
Status refuse(const Json& body, std::string_view key, const Json& harmless,
              std::string_view reason) {
  const Json* value = find(body, key);
  if (value == nullptr || *value == harmless) return Status::ok();
  return Status::unsupported("{} is not supported: {}", key, reason);
}

// Says which fields of the body are none of these.
void add_warnings(const Json& body, std::span<const std::string_view> known, Json& reply) {
  UnknownFields unknown;
  for (const auto& item : body.items()) {
    if (std::ranges::find(known, item.key()) == known.end()) unknown.add(item.key());
  }
  const std::vector<std::string> warnings = unknown.take_warnings();
  if (!warnings.empty()) reply["warnings"] = warnings;
}

constexpr std::array<std::string_view, 11> kVllmFields = {"model",
                                                          "prompt",
                                                          "messages",
                                                          "tools",
                                                          "add_special_tokens",
                                                          "return_token_strs",
                                                          "add_generation_prompt",
                                                          "continue_final_message",
                                                          "chat_template",
                                                          "chat_template_kwargs",
                                                          "mm_processor_kwargs"};
constexpr std::array<std::string_view, 5> kLlamaFields = {"model", "content", "add_special",
                                                          "parse_special", "with_pieces"};

// A part of a character is told as its bytes.
Json piece_of(const Tokenizer& tokenizer, TokenId id) {
  const TokenText token = token_text(tokenizer, id);
  if (utf8::is_valid(token.bytes)) return token.bytes;
  Json bytes = Json::array();
  for (const char byte : token.bytes)
    bytes.push_back(static_cast<uint8_t>(byte));
  return bytes;
}

Json llama_params(const SamplingParams& sampling) {
  Json stages = Json::array();
  for (const SamplerStage stage : sampling.stages.empty() ? default_stages() : sampling.stages)
    stages.push_back(to_string(std::vector{stage}));
  return {{"seed", -1},
          {"temperature", sampling.temperature},
          {"dynatemp_range", sampling.dynatemp_range},
          {"dynatemp_exponent", sampling.dynatemp_exponent},
          {"top_k", sampling.top_k},
          {"top_p", sampling.top_p},
          {"min_p", sampling.min_p},
          {"top_n_sigma", sampling.top_n_sigma},
          {"xtc_probability", sampling.xtc_probability},
          {"xtc_threshold", sampling.xtc_threshold},
          {"typical_p", sampling.typical_p},
          {"repeat_last_n", sampling.repeat_last_n},
          {"repeat_penalty", sampling.repetition_penalty},
          {"presence_penalty", sampling.presence_penalty},
          {"frequency_penalty", sampling.frequency_penalty},
          {"dry_multiplier", sampling.dry_multiplier},
          {"dry_base", sampling.dry_base},
          {"dry_allowed_length", sampling.dry_allowed_length},
          {"dry_penalty_last_n", sampling.dry_penalty_last_n},
          {"mirostat", sampling.mirostat},
          {"mirostat_tau", sampling.mirostat_tau},
          {"mirostat_eta", sampling.mirostat_eta},
          {"stop", Json::array()},
          {"max_tokens", -1},
          {"n_predict", -1},
          {"ignore_eos", sampling.ignore_eos},
          {"samplers", std::move(stages)}};
}

}  // namespace

TokenizeApi::TokenizeApi(const TextSide& text, TokenizeInfo info)
    : text_(text),
      info_(std::move(info)),
      template_(text.chat_template
                    ? ChatTemplate::parse(text.chat_template->text, text.chat_template->origin)
                    : Result<ChatTemplate>(text.template_status)) {}

Result<const Tokenizer*> TokenizeApi::tokenizer() const {
  if (text_.tokenizer == nullptr) return Status::not_found("this model has no tokenizer");
  return text_.tokenizer.get();
}

Result<std::string> TokenizeApi::rendered(const Json& body) const {
  const Json* messages = find(body, "messages");
  if (messages == nullptr) return Status::invalid_argument("messages is missing");
  INGOT_TRY(refuse(body, "chat_template", Json(), "templates come with the model"));
  INGOT_TRY(refuse(body, "continue_final_message", false, "an answer cannot be continued"));
  if (!template_.is_ok()) return Status::not_found("this model has no chat template");
  ChatInput input;
  Result<Json> list = template_messages(*messages);
  if (!list.is_ok()) return field_status("messages", list.status());
  input.messages = *std::move(list);
  if (const Json* tools = find(body, "tools"); tools != nullptr && !tools->empty()) {
    Result<Json> functions = template_tools(*tools);
    if (!functions.is_ok()) return field_status("tools", functions.status());
    input.tools = *std::move(functions);
  }
  if (const Json* kwargs = find(body, "chat_template_kwargs"); kwargs != nullptr) {
    if (!kwargs->is_object())
      return Status::invalid_argument("chat_template_kwargs must be an object");
    input.kwargs = *kwargs;
  }
  INGOT_TRY(input.add_generation_prompt, flag_in(body, "add_generation_prompt", true));
  input.bos_token = text_.bos_token;
  input.eos_token = text_.eos_token;
  return template_->render(input);
}

Result<Json> TokenizeApi::tokenize_vllm(const Json& body, bool is_chat) const {
  INGOT_TRY(const Tokenizer* tokenizer, this->tokenizer());
  INGOT_TRY(const bool with_strings, flag_in(body, "return_token_strs", false));
  EncodeOptions options;  // a template writes its own special tokens
  INGOT_TRY(options.add_special, flag_in(body, "add_special_tokens", !is_chat));
  INGOT_TRY(const std::string text, is_chat ? rendered(body) : text_field(body, "prompt"));
  INGOT_TRY(const std::vector<TokenId> ids, tokenizer->encode(text, options));
  Json reply = {{"count", ids.size()}, {"max_model_len", info_.context}, {"tokens", ids}};
  if (with_strings) {
    Json pieces = Json::array();
    for (const TokenId id : ids)
      pieces.push_back(std::string(tokenizer->piece(id)));
    reply["token_strs"] = std::move(pieces);
  }
  add_warnings(body, kVllmFields, reply);
  return reply;
}

Result<Json> TokenizeApi::tokenize_llama(const Json& body) const {
  INGOT_TRY(const Tokenizer* tokenizer, this->tokenizer());
  EncodeOptions options;
  INGOT_TRY(options.add_special, flag_in(body, "add_special", false));
  INGOT_TRY(options.parse_special, flag_in(body, "parse_special", true));
  INGOT_TRY(const bool with_pieces, flag_in(body, "with_pieces", false));
  INGOT_TRY(const std::string text, text_field(body, "content"));
  INGOT_TRY(const std::vector<TokenId> ids, tokenizer->encode(text, options));
  Json tokens = Json::array();
  for (const TokenId id : ids) {
    tokens.push_back(with_pieces ? Json{{"id", id}, {"piece", piece_of(*tokenizer, id)}}
                                 : Json(id));
  }
  Json reply = {{"tokens", std::move(tokens)}};
  add_warnings(body, kLlamaFields, reply);
  return reply;
}

Result<Json> TokenizeApi::tokenize(const Json& body) const {
  if (!body.is_object()) return Status::invalid_argument("the body is not an object");
  const bool has_prompt = find(body, "prompt") != nullptr;
  const bool has_messages = find(body, "messages") != nullptr;
  const bool has_content = find(body, "content") != nullptr;
  if (int{has_prompt} + int{has_messages} + int{has_content} != 1)
    return Status::invalid_argument("give exactly one of prompt, messages and content");
  return has_content ? tokenize_llama(body) : tokenize_vllm(body, has_messages);
}

Result<Json> TokenizeApi::detokenize(const Json& body) const {
  if (!body.is_object()) return Status::invalid_argument("the body is not an object");
  INGOT_TRY(const Tokenizer* tokenizer, this->tokenizer());
  const Json* tokens = find(body, "tokens");
  if (tokens == nullptr) return Status::invalid_argument("tokens is missing");
  const int64_t vocab = std::max(info_.vocab, static_cast<int64_t>(tokenizer->vocab_size()));
  const Result<std::vector<TokenId>> ids = ids_of(*tokens, vocab, limits::kJsonNodes);
  if (!ids.is_ok()) return field_status("tokens", ids.status());
  const std::string text = tokenizer->decode(*ids);
  Json reply = {{"prompt", text}, {"content", text}};
  constexpr std::array<std::string_view, 2> kKnown = {"model", "tokens"};
  add_warnings(body, kKnown, reply);
  return reply;
}

// The body may be that of a whole chat request, so other fields are no surprise.
Result<Json> TokenizeApi::apply_template(const Json& body) const {
  if (!body.is_object()) return Status::invalid_argument("the body is not an object");
  INGOT_TRY(std::string text, rendered(body));
  return Json{{"prompt", std::move(text)}};
}

Result<Json> TokenizeApi::tokenizer_info() const {
  INGOT_TRY(const Tokenizer* tokenizer, this->tokenizer());
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json() : Json(text);
  };
  const auto token_or_null = [&](std::optional<TokenId> id) {
    return id ? Json(std::string(tokenizer->piece(*id))) : Json();
  };
  const Tokenizer::SpecialTokens& special = tokenizer->special();
  return Json{{"tokenizer_class", "PreTrainedTokenizerFast"},
              {"bos_token", text_or_null(text_.bos_token)},
              {"eos_token", text_or_null(text_.eos_token)},
              {"pad_token", token_or_null(special.pad)},
              {"unk_token", token_or_null(special.unk)},
              {"model_max_length", info_.context},
              {"vocab_size", tokenizer->vocab_size()},
              {"chat_template", text_.chat_template ? Json(text_.chat_template->text) : Json()}};
}

Json TokenizeApi::props() const {
  return {{"default_generation_settings",
           {{"id", 0},
            {"id_task", -1},
            {"n_ctx", info_.context},
            {"speculative", false},
            {"is_processing", false},
            {"params", llama_params(info_.sampling)}}},
          {"total_slots", info_.slots},
          {"model_alias", info_.model},
          {"model_path", info_.model},  // the file's own is nobody's business
          {"modalities", {{"vision", false}, {"audio", false}}},
          {"chat_template", text_.chat_template ? text_.chat_template->text : ""},
          {"bos_token", text_.bos_token},
          {"eos_token", text_.eos_token},
          {"build_info", info_.build},
          {"is_sleeping", false}};
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// Any bytes as the body of a request in every protocol but OpenAI's chat: the first byte chooses
// which. What is taken is well-formed, and what is refused is the client's fault.
#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <variant>

#include "api/anthropic_request.h"
#include "api/embeddings_request.h"
#include "api/ollama_models.h"
#include "api/ollama_request.h"
#include "api/protocol_body.h"
#include "api/tokenize_api.h"
#include "base/check.h"

namespace {

using namespace ingot;  // NOLINT(google-build-using-namespace): a test program

std::shared_ptr<const Tokenizer> tokenizer() {
  return Tokenizer::from_tokenizer_json(
             R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]},
                 "pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":false},
                 "decoder":{"type":"ByteLevel"}})",
             "tokenizer.json")
      .value();
}

const OpenAiParser& parser() {
  static const OpenAiParser kParser({.sampling = {}, .tokenizer = tokenizer(), .vocab = 100});
  return kParser;
}

const TokenizeApi& tokenize_api() {
  static const TextSide kSide = [] {
    TextSide side;
    side.tokenizer = tokenizer();
    side.chat_template = ChatTemplateSource{
        "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{{ tools }}", "fuzz"};
    return side;
  }();
  static const TokenizeApi kApi(kSide, {.model = "m", .context = 64, .vocab = 100});
  return kApi;
}

void check_request(const OpenAiRequest& request) {
  INGOT_CHECK(request.requests.size() == 1);
  const TextRequest& text = request.requests.front();
  INGOT_CHECK(text.prompt.empty() != text.messages.empty());
  INGOT_CHECK(text.messages.empty() || parse_json(text.messages, "messages").is_ok());
}

void check_error(const OpenAiError& error) {
  INGOT_CHECK(error.http_status == 400 || error.http_status == 413);
  INGOT_CHECK(!error.message.empty());
}

void fuzz_anthropic(AnthropicEndpoint endpoint, std::string_view body) {
  const auto result = parse_anthropic_text(parser(), endpoint, body);
  if (const auto* error = std::get_if<OpenAiError>(&result)) return check_error(*error);
  check_request(std::get<OpenAiRequest>(result));
}

void fuzz_ollama(OllamaEndpoint endpoint, std::string_view body, bool has_template) {
  const auto result = parse_ollama_text(parser(), endpoint, body, has_template);
  if (const auto* error = std::get_if<OpenAiError>(&result)) return check_error(*error);
  const auto& request = std::get<OllamaRequest>(result);
  INGOT_CHECK(request.is_load == request.chat.requests.empty());
  if (!request.is_load) check_request(request.chat);
}

void fuzz_embeddings(EmbeddingsEndpoint endpoint, std::string_view body) {
  const auto result = parse_embeddings_text(endpoint, body, {.vocab = 100, .dimensions = 8});
  if (const auto* error = std::get_if<OpenAiError>(&result)) return check_error(*error);
  const auto& request = std::get<EmbeddingsRequest>(result);
  INGOT_CHECK(request.texts.empty() != request.ids.empty());
}

void fuzz_tokenize(std::string_view body) {
  const std::variant<Json, OpenAiError> parsed = parse_body(body);
  if (const auto* error = std::get_if<OpenAiError>(&parsed)) return check_error(*error);
  const auto& json = std::get<Json>(parsed);
  const std::array replies = {tokenize_api().tokenize(json), tokenize_api().detokenize(json),
                              tokenize_api().apply_template(json)};
  for (const Result<Json>& reply : replies) {
    if (!reply.is_ok()) check_error(to_openai_error(reply.status()));
  }
  (void)ollama_show_name(json);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 9) {
    case 0:
      fuzz_anthropic(AnthropicEndpoint::kMessages, body);
      break;
    case 1:
      fuzz_anthropic(AnthropicEndpoint::kCountTokens, body);
      break;
    case 2:
      fuzz_ollama(OllamaEndpoint::kChat, body, true);
      break;
    case 3:
      fuzz_ollama(OllamaEndpoint::kGenerate, body, true);
      break;
    case 4:
      fuzz_ollama(OllamaEndpoint::kGenerate, body, false);
      break;
    case 5:
      fuzz_embeddings(EmbeddingsEndpoint::kOpenAi, body);
      break;
    case 6:
      fuzz_embeddings(EmbeddingsEndpoint::kOllama, body);
      break;
    case 7:
      fuzz_embeddings(EmbeddingsEndpoint::kOllamaOne, body);
      break;
    default:
      fuzz_tokenize(body);
      break;
  }
  return 0;
}

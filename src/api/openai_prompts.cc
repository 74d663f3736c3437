// SPDX-License-Identifier: Apache-2.0
#include "api/openai_prompts.h"

#include <algorithm>
#include <span>
#include <utility>

#include "api/loaded_model.h"

namespace ingot {
namespace {

OpenAiError too_long(int64_t tokens, int64_t context) {
  return {
      .message = fmt::format("the prompt has {} tokens but the context holds {}", tokens, context),
      .param = {},
      .code = "context_length_exceeded"};
}

// The end of the prompt as text, long enough for a mark of several tokens.
std::string prompt_end(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  constexpr size_t kTokens = 16;
  return tokenizer.decode(ids.last(std::min(ids.size(), kTokens)), false);
}

}  // namespace

std::optional<OpenAiError> encode_prompts(const TextEngine& engine, OpenAiRequest& request) {
  const bool is_chat = request.endpoint == OpenAiEndpoint::kChat;
  request.prompt_texts.clear();
  for (TextRequest& text : request.requests) {
    Result<std::vector<TokenId>> ids = engine.prompt_ids(text);
    if (!ids.is_ok()) return to_openai_error(ids.status(), is_chat ? "messages" : "prompt");
    const auto tokens = static_cast<int64_t>(ids->size());
    // A prompt that fills the context leaves no room for an answer, if one is wanted.
    if (tokens + (text.max_tokens != 0 ? 1 : 0) > engine.context())
      return too_long(tokens, engine.context());
    request.prompt_texts.push_back(std::exchange(text.prompt, {}));
    text.messages.clear();
    text.prompt_ids = *std::move(ids);
    if (!request.format.reasoning) continue;
    const Tokenizer* tokenizer = engine.model().text.tokenizer.get();
    request.format.begins_in_reasoning =
        tokenizer != nullptr &&
        opens_reasoning(prompt_end(*tokenizer, text.prompt_ids), *request.format.reasoning);
  }
  return std::nullopt;
}

}  // namespace ingot

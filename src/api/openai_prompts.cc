// SPDX-License-Identifier: Apache-2.0
#include "api/openai_prompts.h"

#include <utility>

namespace ingot {
namespace {

OpenAiError too_long(int64_t tokens, int64_t context) {
  return {
      .message = fmt::format("the prompt has {} tokens but the context holds {}", tokens, context),
      .param = {},
      .code = "context_length_exceeded"};
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
  }
  return std::nullopt;
}

}  // namespace ingot

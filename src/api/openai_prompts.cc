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

bool truncate_prompt(const OpenAiRequest& request, const TextRequest& text, int64_t context,
                     std::vector<TokenId>& ids) {
  if (!request.truncate_prompt_tokens) return false;
  int64_t most = *request.truncate_prompt_tokens;
  if (most < 0) {
    const int64_t answer = std::max<int64_t>(text.max_tokens, text.max_tokens == 0 ? 0 : 1);
    most = std::max<int64_t>(context - answer, 1);
  }
  const auto kept = static_cast<size_t>(most);
  if (ids.size() <= kept) return false;
  if (!request.truncates_right) std::move(ids.end() - most, ids.end(), ids.begin());
  ids.resize(kept);
  return true;
}

std::optional<OpenAiError> encode_prompts(const TextEngine& engine, OpenAiRequest& request) {
  const bool is_chat = request.endpoint == OpenAiEndpoint::kChat;
  request.prompt_texts.clear();
  for (TextRequest& text : request.requests) {
    Result<std::vector<TokenId>> ids = engine.prompt_ids(text);
    if (!ids.is_ok()) return to_openai_error(ids.status(), is_chat ? "messages" : "prompt");
    if (truncate_prompt(request, text, engine.context(), *ids)) text.prompt.clear();
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

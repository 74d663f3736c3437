// SPDX-License-Identifier: Apache-2.0
// The body of POST /v1/messages or /v1/messages/count_tokens, Anthropic's form, becomes the same
// request in OpenAI's, so that one parser knows all ranges and defaults. Every field of the public
// schema is honoured, changes nothing here, or is refused by name; others become warnings.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "api/openai_request.h"
#include "base/json.h"
#include "ingot/engine.h"

namespace ingot {

enum class AnthropicEndpoint : uint8_t { kMessages, kCountTokens };

// The result's endpoint is kChat; it has exactly one request.
std::variant<OpenAiRequest, OpenAiError> parse_anthropic(const OpenAiParser& parser,
                                                         AnthropicEndpoint endpoint,
                                                         const Json& body);
std::variant<OpenAiRequest, OpenAiError> parse_anthropic_text(const OpenAiParser& parser,
                                                              AnthropicEndpoint endpoint,
                                                              std::string_view body);

// The reply of count_tokens: {"input_tokens": N}.
Result<Json> anthropic_count(const TextEngine& engine, const OpenAiRequest& request);

}  // namespace ingot

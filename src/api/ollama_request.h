// SPDX-License-Identifier: Apache-2.0
// The body of POST /api/chat or /api/generate, Ollama's form, becomes the same request in OpenAI's,
// so that one parser knows all ranges and defaults. What cannot be honoured is refused by name;
// what only concerns how Ollama loads models changes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "api/openai_request.h"
#include "base/json.h"

namespace ingot {

enum class OllamaEndpoint : uint8_t { kChat, kGenerate };

struct OllamaRequest {
  OllamaEndpoint endpoint = OllamaEndpoint::kChat;
  std::string model = {};  // as asked for: replies repeat it
  // Nothing is asked: the client wants the model loaded or, by keep_alive 0, unloaded. `chat` has
  // no requests then; ollama_load_reply() answers.
  bool is_load = false;
  bool is_unload = false;
  OpenAiRequest chat = {};  // its model has no ":latest"
};

// `has_template`: else /api/generate prompts the model with the text itself.
std::variant<OllamaRequest, OpenAiError> parse_ollama(const OpenAiParser& parser,
                                                      OllamaEndpoint endpoint, const Json& body,
                                                      bool has_template);
std::variant<OllamaRequest, OpenAiError> parse_ollama_text(const OpenAiParser& parser,
                                                           OllamaEndpoint endpoint,
                                                           std::string_view body,
                                                           bool has_template);

// "name:latest" as Ollama lists models, and back: the tag `latest` says nothing.
std::string ollama_name(std::string_view served);
std::string served_name(std::string_view ollama);

}  // namespace ingot

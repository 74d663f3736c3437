// SPDX-License-Identifier: Apache-2.0
// The body of POST /v1/chat/completions or /v1/completions becomes requests for the engine. Every
// field of the public schemas, and of vLLM's and llama.cpp's extensions, stands in one table
// (openai_fields.cc): it is honoured, it changes nothing here, or it is refused by name. Other
// fields become warnings.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/answer_format.h"
#include "api/openai_error.h"
#include "base/json.h"
#include "ingot/engine.h"
#include "tokenizer/tokenizer.h"

namespace ingot {

enum class OpenAiEndpoint : uint8_t { kChat = 1, kCompletions = 2 };

struct OpenAiRequest {
  OpenAiEndpoint endpoint = OpenAiEndpoint::kChat;
  std::string model = {};                  // as asked for
  std::vector<TextRequest> requests = {};  // one for each prompt, alike but for it; at least one
  std::vector<std::string> prompt_texts =
      {};  // as given, once the prompts are ids: see encode_prompts()
  // So many tokens of a longer prompt are kept, the last ones unless `truncates_right`; -1: as many
  // as fit.
  std::optional<int64_t> truncate_prompt_tokens = {};
  bool truncates_right = false;
  int64_t seed = 0;  // given, or drawn
  bool streams = false;
  bool includes_usage = false;    // stream_options
  bool continuous_usage = false;  // with every event of the stream
  bool echoes = false;
  bool returns_token_ids = false;
  bool tokens_as_ids = false;  // return_tokens_as_token_ids
  bool hides_prompt_logprobs = true;
  AnswerFormat format = {};  // of a chat
  std::vector<std::string> warnings = {};
};

// What a body is read against.
struct OpenAiDefaults {
  SamplingParams sampling;                     // the model's, with its end tokens
  std::shared_ptr<const Tokenizer> tokenizer;  // may be null
  int64_t vocab = 0;
  // How the model spells calls and thoughts; looked for in chats.
  ToolFormat tool_format = ToolFormat::kNone;
  std::optional<ReasoningMarks> reasoning = {};
};
OpenAiDefaults openai_defaults(const TextEngine& engine);

// Thread-safe.
class OpenAiParser {
 public:
  explicit OpenAiParser(OpenAiDefaults defaults) : defaults_(std::move(defaults)) {}

  std::variant<OpenAiRequest, OpenAiError> parse(OpenAiEndpoint endpoint, const Json& body) const;
  // The same of a text, within the limits for one body.
  std::variant<OpenAiRequest, OpenAiError> parse_text(OpenAiEndpoint endpoint,
                                                      std::string_view body) const;

  const OpenAiDefaults& defaults() const { return defaults_; }
  // llama.cpp's breakers for DRY as token ids: looked for in the vocabulary once.
  Result<std::vector<std::vector<TokenId>>> default_breakers() const;

 private:
  const OpenAiDefaults defaults_;
  mutable std::mutex mutex_;
  mutable std::vector<std::vector<TokenId>> breakers_;  // under the mutex
};

}  // namespace ingot

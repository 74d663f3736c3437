// SPDX-License-Identifier: Apache-2.0
// A conversation: messages in, the model's template around them, the answer out as a stream of
// text.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/loaded_model.h"
#include "base/json.h"
#include "base/status.h"
#include "ingot/engine.h"

namespace ingot {

struct ChatOptions {
  SamplingParams sampling;
  int64_t max_tokens = -1;
  std::string system;         // empty: none
  std::string chat_template;  // empty: the model's own
};

struct ChatTurn {
  std::string text;
  FinishReason finish = FinishReason::kStop;
  int64_t prompt_tokens = 0;
  int64_t reused_tokens = 0;
  int64_t answer_tokens = 0;
  int64_t dropped_messages = 0;  // that no longer fitted the context
  double prompt_seconds = 0;
  double decode_seconds = 0;
};

// Sees the answer in pieces of whole characters; called with an empty piece now and then while
// there is no text. Returning false stops the answer.
using OnText = std::function<bool(std::string_view)>;

// Models without a template get a plain "User: ... Assistant:" form. Single thread.
class ChatSession {
 public:
  // `engine` must outlive it.
  static Result<ChatSession> create(TextEngine& engine, ChatOptions options);

  // Adds the user's message, answers it. When the conversation no longer fits, the oldest turns are
  // dropped (the system message stays). An error leaves the conversation as it was before.
  Result<ChatTurn> ask(std::string message, const OnText& on_text);
  // Answers the last user message again, with another seed.
  Result<ChatTurn> regenerate(const OnText& on_text);
  void reset() { messages_ = Json::array(); }  // forgets all but the system message
  ChatOptions& options() { return options_; }
  // The turns; the system message stands in options().
  const Json& messages() const { return messages_; }
  void set_messages(Json messages) { messages_ = std::move(messages); }

 private:
  ChatSession(TextEngine& engine, ChatOptions options);
  Result<std::vector<TokenId>> prompt_ids(const Json& messages) const;
  Result<std::vector<TokenId>> fit(Json& messages, ChatTurn& turn) const;
  Result<ChatTurn> answer(Json messages, const OnText& on_text);

  Status listen(TextStream& stream, const OnText& on_text, ChatTurn& turn) const;

  TextEngine* engine_;
  const LoadedModel* model_;
  ChatOptions options_;
  std::optional<ChatTemplate> template_;
  Json messages_ = Json::array();
  uint64_t regenerations_ = 0;  // moves the seed, so that a second answer differs from the first
};

}  // namespace ingot

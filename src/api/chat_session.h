// SPDX-License-Identifier: Apache-2.0
// A conversation: messages in, the model's template around them, the answer out as a stream of
// text.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/loaded_model.h"
#include "base/status.h"
#include "engine/solo.h"

namespace ingot {

struct ChatOptions {
  SamplingParams sampling;
  int64_t max_tokens = -1;
  std::string system;  // empty: none
};

struct ChatTurn {
  std::string text;
  FinishReason finish = FinishReason::kStop;
  int64_t prompt_tokens = 0;
  int64_t reused_tokens = 0;
  int64_t answer_tokens = 0;
  double prompt_seconds = 0;
  double decode_seconds = 0;
};

// Models without a template get a plain "User: ... Assistant:" form. Single thread.
class ChatSession {
 public:
  // `model` and `solo` must outlive it.
  static Result<ChatSession> create(const LoadedModel& model, Solo& solo, ChatOptions options);

  // Adds the user's message, answers it. on_text sees the answer in pieces of whole characters;
  // returning false stops it. When the conversation no longer fits, the oldest turns are dropped
  // (the system message stays). An error leaves the conversation as it was before.
  Result<ChatTurn> ask(std::string message, const std::function<bool(std::string_view)>& on_text);
  // Answers the last user message again.
  Result<ChatTurn> regenerate(const std::function<bool(std::string_view)>& on_text);
  void reset();  // forgets all but the system message
  ChatOptions& options() { return options_; }
  const Json& messages() const { return messages_; }
  void set_messages(Json messages) { messages_ = std::move(messages); }

 private:
  ChatSession(const LoadedModel& model, Solo& solo, ChatOptions options);
  Result<std::vector<TokenId>> prompt_ids();
  Result<ChatTurn> answer(const std::function<bool(std::string_view)>& on_text);

  const LoadedModel* model_;
  Solo* solo_;
  ChatOptions options_;
  std::optional<ChatTemplate> template_;
  Json messages_;
};

}  // namespace ingot

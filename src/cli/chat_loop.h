// SPDX-License-Identifier: Apache-2.0
// The conversation in the terminal: reads messages and /commands, streams answers, survives Ctrl-C.
#pragma once

#include "api/chat_session.h"
#include "base/status.h"
#include "cli/chat_commands.h"
#include "cli/line_editor.h"

namespace ingot {

// Main thread only.
class ChatLoop {
 public:
  ChatLoop(ChatSession& session, const LoadedModel& model, LineHistory& history, bool shows_stats);

  // Until the user leaves or the input ends. Errors of a single answer are shown, and the chat goes
  // on; where no person is at the other end they end it.
  Status run();
  // One question, one answer, and out.
  Status ask_once(const std::string& message);

 private:
  // Nothing at the end of the chat.
  Result<std::optional<std::string>> next_message();
  Result<ChatStep> handle(const std::string& message);
  Status answer(const std::string* message);  // null: the last one again

  ChatSession& session_;
  LineHistory& history_;
  LineEditor editor_;
  ChatState state_;
  bool was_interrupted_ = false;  // Ctrl-C at the empty prompt, once
};

}  // namespace ingot

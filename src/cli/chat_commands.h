// SPDX-License-Identifier: Apache-2.0
// The /commands of a chat: one table, so that /help lists what there is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/chat_session.h"
#include "base/status.h"

namespace ingot {

enum class ChatStep : uint8_t { kNext, kRegenerate, kExit };

// What a command may look at and change.
struct ChatState {
  ChatSession& session;
  const LoadedModel& model;
  bool shows_stats = false;
  std::string output;  // what the command has to say
};

bool is_chat_command(std::string_view message);
// An error is told to the user; the chat goes on.
Result<ChatStep> run_chat_command(std::string_view message, ChatState& state);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// The `delta` of one event of a chat: what the pieces of an answer add to its message.
#pragma once

#include <string>
#include <vector>

#include "api/answer_piece.h"

namespace ingot {

struct ChatDelta {
  std::string content = {};
  std::string reasoning = {};
  std::vector<AnswerPiece> calls = {};  // kCall and kArguments

  explicit ChatDelta(std::vector<AnswerPiece> pieces);
  explicit ChatDelta(std::string text) : content(std::move(text)) {}
  bool is_empty() const { return content.empty() && reasoning.empty() && calls.empty(); }
};

// {"role": ..., "content": ..., "tool_calls": [...]}; the role with the first delta of an answer.
void append_chat_delta(std::string& out, const ChatDelta& delta, bool is_first);

}  // namespace ingot

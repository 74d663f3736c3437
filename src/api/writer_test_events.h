// SPDX-License-Identifier: Apache-2.0
// What the engine would tell, for tests of writers, and a toy notation: "(thoughts)" and calls
// "[name{...}]".
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/answer_parts.h"
#include "api/answer_writer.h"

namespace ingot {

inline TextEvent prompt_event(int64_t tokens, int64_t reused = 0, double seconds = 0) {
  PromptReport report;
  report.tokens = tokens;
  report.reused_tokens = reused;
  report.prompt_seconds = seconds;
  TextEvent event;
  event.kind = TextEvent::Kind::kPrompt;
  event.prompt = std::make_shared<const PromptReport>(std::move(report));
  return event;
}

inline TextEvent token_event(std::string text, TokenId id = 0) {
  TextEvent event;
  event.id = id;
  event.text = std::move(text);
  return event;
}

inline TextEvent finish_event(FinishReason reason, std::string text = "") {
  TextEvent event;
  event.kind = TextEvent::Kind::kFinish;
  event.reason = reason;
  event.text = std::move(text);
  return event;
}

// All that a writer says of these events and a good end.
inline std::string told(AnswerWriter& writer, const std::vector<TextEvent>& events) {
  std::string out;
  writer.begin(out);
  for (const TextEvent& event : events)
    writer.take(0, event, out);
  writer.end(Status::ok(), out);
  return out;
}

class BracketParts final : public AnswerParts {
 public:
  void take(const TextEvent& event, std::vector<AnswerPiece>& out) override {
    for (const char c : event.text) {
      if (state_ == State::kText && c == '[') {
        state_ = State::kName;
      } else if (state_ == State::kText && (c == '(' || c == ')')) {
        is_thinking_ = c == '(';
      } else if (state_ == State::kName && (c == '{' || c == ']')) {
        out.push_back({.kind = Kind::kCall,
                       .text = std::exchange(name_, {}),
                       .call = call_,
                       .id = "call_" + std::to_string(call_)});
        state_ = State::kArguments;
      } else if (state_ == State::kName) {
        name_ += c;
      }
      if (state_ == State::kArguments && c == ']') {
        state_ = State::kText;
        ++call_;
      } else if (state_ == State::kArguments) {
        append_piece(out, {.kind = Kind::kArguments, .text = {c}, .call = call_});
      } else if (state_ == State::kText && c != '(' && c != ')') {
        append_piece(out, {.kind = is_thinking_ ? Kind::kReasoning : Kind::kContent, .text = {c}});
      }
    }
  }

 private:
  using Kind = AnswerPiece::Kind;
  enum class State : uint8_t { kText, kName, kArguments };
  State state_ = State::kText;
  bool is_thinking_ = false;
  size_t call_ = 0;
  std::string name_;
};

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "api/reasoning_splitter.h"

#include <array>
#include <utility>

#include "base/ascii.h"

namespace ingot {
std::optional<ReasoningMarks> detect_reasoning(std::string_view chat_template) {
  constexpr std::array<ReasoningMarks, 2> kKnown = {
      {{"<think>", "</think>"}, {"[THINK]", "[/THINK]"}}};
  for (const ReasoningMarks& marks : kKnown) {
    if (chat_template.find(marks.open) != std::string_view::npos ||
        chat_template.find(marks.close) != std::string_view::npos)
      return marks;
  }
  return std::nullopt;
}

bool opens_reasoning(std::string_view prompt, const ReasoningMarks& marks) {
  while (!prompt.empty() && is_blank(prompt.back()))
    prompt.remove_suffix(1);
  return prompt.ends_with(marks.open);
}

void ReasoningSplitter::think(std::string_view text) {
  has_thought_ = true;
  thought_ += std::exchange(held_, {});
  thought_ += text;
}

void ReasoningSplitter::take(char c) {
  switch (state_) {
    case State::kBefore:
      held_ += c;
      if (is_blank(c)) return;
      mark_size_ = 1;
      state_ = c == marks_.open.front() ? State::kOpenMark : State::kText;
      if (state_ == State::kText) text_ += std::exchange(held_, {});
      return;
    case State::kOpenMark:
      held_ += c;
      if (marks_.open[mark_size_] != c) {
        text_ += std::exchange(held_, {});
        state_ = State::kText;
      } else if (++mark_size_ == marks_.open.size()) {
        held_.clear();
        state_ = State::kInside;
      }
      return;
    case State::kInside:
      if (is_blank(c)) {
        if (has_thought_) held_ += c;
      } else if (c == marks_.close.front()) {
        held_ += c;
        mark_size_ = 1;
        state_ = State::kCloseMark;
      } else {
        think({&c, 1});
      }
      return;
    case State::kCloseMark:
      if (marks_.close[mark_size_] != c) {
        think({});  // the character itself may begin the mark
        state_ = State::kInside;
        return take(c);
      }
      held_ += c;
      if (++mark_size_ == marks_.close.size()) {
        held_.clear();
        state_ = State::kAfter;
      }
      return;
    case State::kAfter:
      if (is_blank(c)) return;
      state_ = State::kText;
      [[fallthrough]];
    case State::kText:
      text_ += c;
  }
}

std::string ReasoningSplitter::push(std::string_view text, std::vector<AnswerPiece>& out) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (state_ == State::kText) {
      text_ += text.substr(i);
      break;
    }
    take(text[i]);
  }
  if (!thought_.empty()) {
    append_piece(out, {.kind = AnswerPiece::Kind::kReasoning, .text = std::exchange(thought_, {})});
  }
  return std::exchange(text_, {});
}

std::string ReasoningSplitter::finish(std::vector<AnswerPiece>& out) {
  if (state_ == State::kBefore || state_ == State::kOpenMark) text_ += std::exchange(held_, {});
  // A mark that was not finished is a thought; blanks are nothing.
  if (state_ == State::kCloseMark) think({});
  state_ = State::kText;
  return push({}, out);
}

}  // namespace ingot

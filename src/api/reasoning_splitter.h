// SPDX-License-Identifier: Apache-2.0
// Parts what a model thinks from what it says: <think>...</think> before the answer. Blanks around
// both marks belong to neither. However the text is cut into parts, the pieces say the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/answer_piece.h"

namespace ingot {

struct ReasoningMarks {
  std::string_view open;  // each mark has its first character once
  std::string_view close;
};

// The marks that a chat template shows; nothing when it knows of no thinking.
std::optional<ReasoningMarks> detect_reasoning(std::string_view chat_template);
// Whether a prompt ends with the open mark: the answer then begins in the middle of a thought.
bool opens_reasoning(std::string_view prompt, const ReasoningMarks& marks);

// Single thread.
class ReasoningSplitter {
 public:
  ReasoningSplitter(ReasoningMarks marks, bool begins_inside)
      : marks_(marks), state_(begins_inside ? State::kInside : State::kBefore) {}

  // Thoughts become pieces; the rest of the text is returned, to be looked through for calls.
  std::string push(std::string_view text, std::vector<AnswerPiece>& out);
  std::string finish(std::vector<AnswerPiece>& out);
  bool is_inside() const { return state_ == State::kInside || state_ == State::kCloseMark; }

 private:
  enum class State : uint8_t {
    kBefore,    // nothing but blanks so far
    kOpenMark,  // a part of it
    kInside,
    kCloseMark,
    kAfter,  // blanks after the close mark
    kText,
  };
  void take(char c);
  void think(std::string_view text);

  const ReasoningMarks marks_;
  State state_;
  std::string held_;      // blanks, and what has come of a mark
  size_t mark_size_ = 0;  // at the end of held_
  bool has_thought_ = false;
  std::string thought_;  // in this push
  std::string text_;
};

}  // namespace ingot

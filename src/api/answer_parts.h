// SPDX-License-Identifier: Apache-2.0
// The seam between writers and what tells thoughts and calls of tools apart in an answer's text:
// writers of every protocol read pieces, so that none of them knows how a model spells a call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/answer_piece.h"

namespace ingot {

// Of one answer. Calls follow each other: the arguments of one are over when another piece begins.
// Single thread.
class AnswerParts {
 public:
  virtual ~AnswerParts() = default;
  // Appends what is certain now.
  virtual void push(std::string_view text, std::vector<AnswerPiece>& out) = 0;
  // The answer is over: what was held back.
  virtual void finish(std::vector<AnswerPiece>& out) = 0;
};

// All text is content: for requests without tools.
class PlainParts final : public AnswerParts {
 public:
  void push(std::string_view text, std::vector<AnswerPiece>& out) override {
    if (!text.empty()) append_piece(out, {.text = std::string(text)});
  }
  void finish(std::vector<AnswerPiece>& /*out*/) override {}
};

}  // namespace ingot

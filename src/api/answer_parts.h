// SPDX-License-Identifier: Apache-2.0
// The seam between writers and what tells thoughts and calls of tools apart in an answer's text:
// writers of every protocol read pieces, so that none of them knows how a model spells a call.
#pragma once

#include <vector>

#include "api/answer_piece.h"
#include "ingot/engine.h"

namespace ingot {

// Of one answer. Calls follow each other: the arguments of one are over when another piece begins.
// Single thread.
class AnswerParts {
 public:
  virtual ~AnswerParts() = default;
  // A token or the end of the answer (kToken, kFinish); appends what is certain with it.
  virtual void take(const TextEvent& event, std::vector<AnswerPiece>& out) = 0;
};

// All text is content: for requests without tools.
class PlainParts final : public AnswerParts {
 public:
  void take(const TextEvent& event, std::vector<AnswerPiece>& out) override {
    if (!event.text.empty()) append_piece(out, {.text = event.text});
  }
};

}  // namespace ingot

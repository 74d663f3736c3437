// SPDX-License-Identifier: Apache-2.0
// Turns the text of one answer into pieces: thoughts, content and calls. Between the engine's
// events and every writer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/answer_format.h"
#include "api/answer_parts.h"
#include "api/answer_piece.h"
#include "api/tool_parser.h"
#include "ingot/engine.h"
#include "tokenizer/tokenizer.h"

namespace ingot {

// Single thread.
class AnswerSplitter final : public AnswerParts {
 public:
  // `tokenizer` may be null. With `holds_calls` a call is told when it is whole: for replies that
  // are not streamed (see ToolParserOptions).
  AnswerSplitter(const AnswerFormat& format, const Tokenizer* tokenizer, bool holds_calls);

  // A token or the end of the answer (kToken, kFinish); appends what it adds.
  void take(const TextEvent& event, std::vector<AnswerPiece>& out) override;
  bool has_calls() const { return tools_ != nullptr && tools_->calls() > 0; }
  int64_t reasoning_tokens() const { return reasoning_tokens_; }

 private:
  std::string shown_text(const TextEvent& event) const;

  const bool hides_reasoning_;
  const bool strips_special_;
  const Tokenizer* tokenizer_;
  std::vector<TokenId> marks_;  // special tokens that stay
  std::optional<ReasoningSplitter> reasoning_;
  std::unique_ptr<ToolParser> tools_;  // null: calls are not looked for
  int64_t reasoning_tokens_ = 0;
};

// The special tokens of the vocabulary that the format's marks are: hidden they would be missed.
std::vector<TokenId> special_marks(const AnswerFormat& format, const Tokenizer& tokenizer);

}  // namespace ingot

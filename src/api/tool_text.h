// SPDX-License-Identifier: Apache-2.0
// What the parsers of all formats share: what they tell, and which text they hold back. Blanks
// before a call, between calls and after the last one are nobody's content, so they are held until
// it is known what follows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/answer_piece.h"
#include "api/tool_parser.h"

namespace ingot {

// Single thread.
class ToolText {
 public:
  explicit ToolText(ToolParserOptions options) : options_(std::move(options)) {}

  void begin(std::vector<AnswerPiece>& out) { out_ = &out; }  // where pieces go from now on
  const ToolParserOptions& options() const { return options_; }
  size_t calls() const { return calls_; }
  // No content since the beginning or since the last call.
  bool is_fresh() const { return is_fresh_; }
  bool is_known(std::string_view name) const;

  void text(std::string_view text);
  // Text only where other text follows and no call.
  void blank(std::string_view text) { blanks_ += text; }
  void drop_blanks() { blanks_.clear(); }
  void call(const std::string& name);  // begins
  void arguments(std::string text);    // of the call that began last
  void end_call() { is_fresh_ = true; }
  // A text of blanks alone is content all the same.
  void finish();

 private:
  const ToolParserOptions options_;
  std::vector<AnswerPiece>* out_ = nullptr;
  std::string blanks_;
  bool is_fresh_ = true;
  size_t calls_ = 0;
};

}  // namespace ingot

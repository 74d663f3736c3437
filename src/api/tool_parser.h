// SPDX-License-Identifier: Apache-2.0
// Finds calls of tools in an answer while it is generated. What a model writes is data: what is not
// a call in the model's own format stays text, nothing fails, time is linear and nesting bounded.
// However the text is cut into parts, the pieces say the same.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/answer_piece.h"
#include "api/tool_format.h"

namespace ingot {

struct ToolParserOptions {
  ToolFormat format = ToolFormat::kHermes;
  // The request's tools. Formats without marks of their own take only these for calls.
  std::vector<std::string> names = {};
  bool only_first = false;  // nothing is told after the first call
  // A call is told when it is whole; one that is broken is text. Otherwise arguments are told while
  // they come, and of a call that breaks after its name what is left is text.
  bool holds_calls = false;
};

// One for each answer. Single thread.
class ToolParser {
 public:
  virtual ~ToolParser() = default;
  virtual void push(std::string_view text, std::vector<AnswerPiece>& out) = 0;
  // The text is over. Nothing comes after it.
  virtual void finish(std::vector<AnswerPiece>& out) = 0;
  virtual size_t calls() const = 0;  // told so far
};

// `options.format` is not kNone.
std::unique_ptr<ToolParser> make_tool_parser(ToolParserOptions options);

}  // namespace ingot

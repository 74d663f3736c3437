// SPDX-License-Identifier: Apache-2.0
// What besides content is looked for in an answer's text: calls of tools, thoughts. Part of a
// parsed request; answer_splitter.h obeys it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/reasoning_splitter.h"
#include "api/tool_format.h"

namespace ingot {

struct AnswerFormat {
  ToolFormat tools = ToolFormat::kNone;  // kNone: calls are not looked for
  std::vector<std::string> tool_names = {};
  bool one_call = false;  // nothing is told after the first
  std::optional<ReasoningMarks> reasoning = {};
  bool begins_in_reasoning = false;  // the prompt ends with the open mark
  bool hides_reasoning = false;
  // The model's marks are special tokens, so special tokens are shown: all but the marks are taken
  // out of the text again.
  bool strips_special = false;

  // The text is content, all of it.
  bool is_plain() const { return tools == ToolFormat::kNone && !reasoning; }
};

}  // namespace ingot

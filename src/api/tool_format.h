// SPDX-License-Identifier: Apache-2.0
// How a family of models spells calls of tools in its text. Chosen by name or from the chat
// template, which shows the model how.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace ingot {

enum class ToolFormat : uint8_t {
  kNone,       // calls are not looked for
  kHermes,     // <tool_call>{"name": ..., "arguments": {...}}</tool_call>
  kLlamaJson,  // {"name": ..., "parameters": {...}} as the answer, <|python_tag|> before it or not
  kPythonic,   // [f(a=1, b="x"), g()] as the answer
  kMistral,    // [TOOL_CALLS][{"name": ..., "arguments": {...}}] or [TOOL_CALLS]name{...}
};

// "hermes", "llama3_json", "pythonic", "mistral", "none" or "auto": as the template shows it.
Result<ToolFormat> parse_tool_format(std::string_view name, std::string_view chat_template);
ToolFormat detect_tool_format(std::string_view chat_template);
// Texts that open or part calls; vocabularies often have them as special tokens.
std::span<const std::string_view> tool_marks(ToolFormat format);
// A fresh one: "call_" and 24 hexadecimal digits; for Mistral, whose templates demand it, 9 letters
// and digits.
std::string new_call_id(ToolFormat format);

}  // namespace ingot

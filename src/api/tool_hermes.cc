// SPDX-License-Identifier: Apache-2.0
// Hermes and Qwen: <tool_call>\n{"name": "f", "arguments": {...}}\n</tool_call>, one for each call.
#include <array>
#include <utility>

#include "api/tool_json_calls.h"

namespace ingot {

std::unique_ptr<ToolParser> make_hermes_parser(ToolParserOptions options) {
  static constexpr std::array<std::string_view, 1> kOpens = {"<tool_call>"};
  static constexpr JsonCallSyntax kSyntax{.opens = kOpens, .close = "</tool_call>"};
  return make_json_call_parser(kSyntax, std::move(options));
}

}  // namespace ingot

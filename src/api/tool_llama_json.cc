// SPDX-License-Identifier: Apache-2.0
// Llama 3: {"name": "f", "parameters": {...}} as the answer, after <|python_tag|> or without it;
// several stand in a list or after one another, parted by semicolons.
#include <array>
#include <utility>

#include "api/tool_json_calls.h"

namespace ingot {

std::unique_ptr<ToolParser> make_llama_json_parser(ToolParserOptions options) {
  static constexpr std::array<std::string_view, 1> kOpens = {"<|python_tag|>"};
  static constexpr JsonCallSyntax kSyntax{.opens = kOpens, .opens_bare = true, .takes_lists = true};
  return make_json_call_parser(kSyntax, std::move(options));
}

}  // namespace ingot

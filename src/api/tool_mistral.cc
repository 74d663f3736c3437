// SPDX-License-Identifier: Apache-2.0
// Mistral: [TOOL_CALLS][{"name": "f", "arguments": {...}}, ...], and since 2025 [TOOL_CALLS]f{...}
// for each call, [CALL_ID] and [ARGS] between name and object or not.
#include <array>
#include <utility>

#include "api/tool_json_calls.h"

namespace ingot {

std::unique_ptr<ToolParser> make_mistral_parser(ToolParserOptions options) {
  static constexpr std::array<std::string_view, 1> kOpens = {"[TOOL_CALLS]"};
  static constexpr JsonCallSyntax kSyntax{
      .opens = kOpens, .takes_lists = true, .takes_names = true};
  return make_json_call_parser(kSyntax, std::move(options));
}

}  // namespace ingot

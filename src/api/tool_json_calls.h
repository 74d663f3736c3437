// SPDX-License-Identifier: Apache-2.0
// Calls written as JSON objects, which is what most formats are: they differ in what stands around
// the objects. A format is one value of JsonCallSyntax.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "api/tool_parser.h"

namespace ingot {

struct JsonCallSyntax {
  std::span<const std::string_view>
      opens;                    // marks before a call; their first character is in them once
  std::string_view close = {};  // the mark after one; may be missing in the text
  bool opens_bare = false;      // an object where an answer or the last call ends is a call too
  bool takes_lists = false;     // [{...}, {...}]
  bool takes_names = false;     // name{...}, the object being the arguments
};

std::unique_ptr<ToolParser> make_json_call_parser(const JsonCallSyntax& syntax,
                                                  ToolParserOptions options);

// One file each.
std::unique_ptr<ToolParser> make_hermes_parser(ToolParserOptions options);
std::unique_ptr<ToolParser> make_llama_json_parser(ToolParserOptions options);
std::unique_ptr<ToolParser> make_mistral_parser(ToolParserOptions options);
std::unique_ptr<ToolParser> make_pythonic_parser(ToolParserOptions options);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// JSON written by hand, for the events of a stream: a tree for each token would cost more than all
// the rest of a reply.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ingot {

// The text with quotes around it, spelled as dump_json() would. It must be valid UTF-8.
void append_json_string(std::string& out, std::string_view text);
// Without the quotes: texts that are escaped one after the other make one string.
void append_json_escaped(std::string& out, std::string_view text);
void append_json_integer(std::string& out, int64_t value);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// How Python prints values: str(), repr() and json.dumps(), to the byte. Failures (budget, depth,
// what JSON cannot say) stay in the builder.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "tokenizer/jinja/heap.h"
#include "tokenizer/jinja/value.h"

namespace ingot::jinja {

void write_str(TextBuilder& out, Value value);
void write_repr(TextBuilder& out, Value value, int depth = 0);
// The value if it is a string, str(value) otherwise: what most filters do first.
Result<Value> soft_string(Heap& heap, Value value);
// str(value): never markup.
Result<Value> plain_string(Heap& heap, Value value);
// The shortest digits that read back as the same float, in Python's layout.
std::string float_repr(double value);

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string_view> indent;  // repeated once per level
  std::string_view item_separator = ", ";
  std::string_view key_separator = ": ";
};
void write_json(TextBuilder& out, Value value, const JsonStyle& style, int depth = 0);

// &, <, >, " and ' as HTML entities.
void write_escaped(TextBuilder& out, std::string_view text);
// markupsafe's escape(): markup stays, anything else is printed and escaped.
Result<Value> escape_value(Heap& heap, Value value);

}  // namespace ingot::jinja

// SPDX-License-Identifier: Apache-2.0
// The closed lists of what a template can call: filters, tests, functions and methods. A name that
// is not in its list is an error; nothing here reads a file, a clock (but strftime_now's) or the
// network.
#pragma once

#include <array>
#include <string_view>

#include "base/status.h"
#include "tokenizer/jinja/value.h"

namespace ingot::jinja {

class Interpreter;

// Arguments by parameter; absent where none was given.
struct Arguments {
  static constexpr size_t kMost = 6;
  std::array<Value, kMost> values;
  CallArgs given;  // as they were written, for those that take any

  Value operator[](size_t i) const { return values[i]; }
  bool has(size_t i) const { return !values[i].is_absent(); }
};

struct Builtin {
  std::string_view name;
  // Names with spaces between them, '?' after those that may be missing; "*" takes anything.
  std::string_view parameters;
  Result<Value> (*call)(Interpreter& in, Value self, const Arguments& args);
};

Result<Arguments> bind_arguments(const Builtin& builtin, const CallArgs& given);

// Null where there is none.
const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
const Builtin* find_function(std::string_view name);
const Builtin* find_method(Value self, std::string_view name);
// Python has this attribute, but the sandbox denies it: list.append, dict.update, __class__.
bool is_unsafe_attribute(Value self, std::string_view name);

// The lists themselves, each beside its functions.
std::span<const Builtin> text_filters();
std::span<const Builtin> html_filters();
std::span<const Builtin> number_filters();
std::span<const Builtin> sequence_filters();
std::span<const Builtin> selection_filters();
std::span<const Builtin> wrapping_filters();
std::span<const Builtin> tests();
std::span<const Builtin> functions();
std::span<const Builtin> string_methods();
std::span<const Builtin> string_search_methods();
std::span<const Builtin> dict_methods();
std::span<const Builtin> sequence_methods();
std::span<const Builtin> loop_methods();
std::span<const Builtin> cycler_methods();

}  // namespace ingot::jinja

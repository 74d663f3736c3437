// SPDX-License-Identifier: Apache-2.0
// What filters and methods of strings share.
#pragma once

#include <optional>
#include <vector>

#include "base/status.h"
#include "tokenizer/jinja/heap.h"
#include "tokenizer/jinja/value.h"

namespace ingot::jinja {

// Lines as str.splitlines() cuts them.
Status split_lines(Heap& heap, std::string_view text, bool keeps_ends,
                   std::vector<std::string_view>& lines);
// str.strip(chars): `chars` None or absent strips spaces.
Result<Value> strip(Heap& heap, Value text, Value chars, bool at_left, bool at_right);
Result<Value> replaced(Heap& heap, Value text, std::string_view from, std::string_view to,
                       int64_t count);
Result<Value> cased(Heap& heap, Value text, int how);
enum class Align { kLeft, kRight, kCenter };
// Filled up to `width` code points.
Result<Value> padded(Heap& heap, Value text, int64_t width, std::string_view fill, Align align);
// A string in lower case for comparisons that ignore case; anything else as it is.
Result<Value> without_case(Heap& heap, Value value);

// Python's int(text, base) and float(text); nothing where the text is no number.
Result<std::optional<int64_t>> parse_integer(std::string_view text, int base);
std::optional<double> parse_float(std::string_view text);

}  // namespace ingot::jinja

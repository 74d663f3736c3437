// SPDX-License-Identifier: Apache-2.0
// Python's view of text over our UTF-8: positions count code points, character classes and case are
// Unicode's. All text here is valid UTF-8; nothing is slower than linear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tokenizer/jinja/heap.h"
#include "tokenizer/jinja/value.h"

namespace ingot::jinja {

// The bytes of the character at the front of `text`, which is not empty.
inline std::string_view first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  return text.substr(0, size);
}
std::string_view last_character(std::string_view text);

size_t count_code_points(std::string_view text);
// The same for a string value, counted once.
size_t length_of(StringObject& string);
// Where the code point `index` begins; `index` may be the length. Constant time for ASCII, and for
// walking through any other text in order.
size_t byte_offset(StringObject& string, size_t index);

bool is_space(char32_t code_point);
bool is_alpha(char32_t code_point);
bool is_decimal(char32_t code_point);
bool is_digit(char32_t code_point);
bool is_alnum(char32_t code_point);
bool is_lower(char32_t code_point);
bool is_upper(char32_t code_point);
bool is_title(char32_t code_point);
bool is_printable(char32_t code_point);
// A line break for splitlines.
bool is_line_break(char32_t code_point);

// Without the spaces, or the characters of `chars`, at either end.
std::string_view strip_left(std::string_view text);
std::string_view strip_right(std::string_view text);
std::string_view strip_left(std::string_view text, std::string_view chars);
std::string_view strip_right(std::string_view text, std::string_view chars);

enum class Case { kLower, kUpper, kCapitalize, kTitle, kSwap };
void append_cased(TextBuilder& out, std::string_view text, Case how);

// Position of `needle` at or after `from`, npos if there is none. Linear.
size_t find_text(std::string_view text, std::string_view needle, size_t from = 0);

}  // namespace ingot::jinja

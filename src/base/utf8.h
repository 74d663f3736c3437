// SPDX-License-Identifier: Apache-2.0
// UTF-8, the strict kind: no overlong forms, no surrogates, nothing past U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ingot::utf8 {

inline constexpr char32_t kReplacement = 0xFFFD;

struct Decoded {
  char32_t code_point;  // kReplacement where the bytes are not valid
  uint8_t size;         // bytes consumed, at least 1
  bool is_valid;
};

// Decodes the code point at the front of `text`, which must not be empty. Invalid bytes consume the
// longest prefix that could have begun a character (Unicode's "maximal subpart", as Python and Rust
// do).
Decoded decode(std::string_view text);
// Appends the code point; surrogates and values past U+10FFFF become U+FFFD.
void append(std::string& out, char32_t code_point);
bool is_valid(std::string_view text);
// Each invalid part becomes one U+FFFD.
std::string replace_invalid(std::string_view text);
// How many bytes at the end of `text` begin a character that is not finished: 0 to 3.
size_t unfinished_suffix(std::string_view text);
// Number of code points; `text` must be valid.
size_t count(std::string_view text);

}  // namespace ingot::utf8

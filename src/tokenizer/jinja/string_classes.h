// SPDX-License-Identifier: Apache-2.0
// str.isupper() and its like, over a whole text.
#pragma once

#include <string_view>

#include "base/utf8.h"
#include "tokenizer/jinja/unicode_text.h"

namespace ingot::jinja {

// At least one character, and all of them in the class.
template <class InClass>
bool is_all(std::string_view text, InClass in_class) {
  if (text.empty()) return false;
  while (!text.empty()) {
    const utf8::Decoded next = utf8::decode(text);
    if (!in_class(next.code_point)) return false;
    text.remove_prefix(next.size);
  }
  return true;
}

// At least one character with case, and all of those of one case.
bool is_upper_text(std::string_view text);
bool is_lower_text(std::string_view text);

}  // namespace ingot::jinja

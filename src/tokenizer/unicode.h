// SPDX-License-Identifier: Apache-2.0
// Characters and their classes, as the tokenizers' pattern languages define them: categories by
// utf8proc, white space and "word" by the Unicode properties that Oniguruma and Rust use.
#pragma once

#include <cstdint>
#include <string_view>

namespace ingot::tok {

// Bits of a character's class. Patterns are written in terms of these alone.
enum CharClass : uint32_t {
  kLetterUpper = 1U << 0,  // Lu, Lt
  kLetterLower = 1U << 1,  // Ll
  kLetterOther = 1U << 2,  // Lm, Lo
  kMark = 1U << 3,
  kNumber = 1U << 4,
  kPunctuation = 1U << 5,
  kSymbol = 1U << 6,
  kSpace = 1U << 7,    // the White_Space property
  kNewline = 1U << 8,  // \r and \n
  kDigit = 1U << 9,    // Nd
  kLetter = kLetterUpper | kLetterLower | kLetterOther,
};

// One character of a text. At the end of the text `size` is 0 and `classes` is empty.
struct Char {
  char32_t code_point = 0;
  uint32_t size = 0;
  uint32_t classes = 0;

  bool is(uint32_t any_of) const { return (classes & any_of) != 0; }
};

uint32_t classify(char32_t code_point);
// The character at `offset`; bytes that are not UTF-8 read as U+FFFD.
Char char_at(std::string_view text, size_t offset);
// The character that ends at `offset`.
Char char_before(std::string_view text, size_t offset);

bool is_space(char32_t code_point);
// \w of the Rust regex crate: letters, marks, decimal digits, connectors, letter-like symbols.
bool is_word(char32_t code_point);
// What BERT calls punctuation: category P, and all of ASCII's.
bool is_bert_punctuation(char32_t code_point);
bool is_nonspacing_mark(char32_t code_point);
// Categories Cc, Cf and Co.
bool is_other(char32_t code_point);

}  // namespace ingot::tok

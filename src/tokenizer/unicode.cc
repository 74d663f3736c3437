// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unicode.h"

#include <utf8proc.h>

#include <array>

#include "base/utf8.h"

namespace ingot::tok {

namespace {

uint32_t classes_of_category(utf8proc_category_t category) {
  switch (category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
      return kLetterUpper;
    case UTF8PROC_CATEGORY_LL:
      return kLetterLower;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return kLetterOther;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return kMark;
    case UTF8PROC_CATEGORY_ND:
      return kNumber | kDigit;
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return kNumber;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return kPunctuation;
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO:
      return kSymbol;
    default:
      return 0;
  }
}

constexpr uint16_t classes_of_ascii(uint8_t c) {
  if (c == '\r' || c == '\n') return kSpace | kNewline;
  if (c == ' ' || (c >= '\t' && c <= '\r')) return kSpace;
  if (c >= 'A' && c <= 'Z') return kLetterUpper;
  if (c >= 'a' && c <= 'z') return kLetterLower;
  if (c >= '0' && c <= '9') return kNumber | kDigit;
  if (c < ' ' || c == 0x7F) return 0;
  for (const char symbol : {'$', '+', '<', '=', '>', '^', '`', '|', '~'}) {
    if (c == static_cast<uint8_t>(symbol)) return kSymbol;
  }
  return kPunctuation;
}

constexpr std::array<uint16_t, 128> make_ascii_classes() {
  std::array<uint16_t, 128> table{};
  for (size_t c = 0; c < table.size(); ++c)
    table[c] = classes_of_ascii(static_cast<uint8_t>(c));
  return table;
}
constexpr std::array<uint16_t, 128> kAsciiClasses = make_ascii_classes();

utf8proc_category_t category_of(char32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

}  // namespace

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

uint32_t classify(char32_t code_point) {
  if (code_point < 0x80) return kAsciiClasses[code_point];
  return classes_of_category(category_of(code_point)) | (is_space(code_point) ? kSpace : 0U);
}

Char char_at(std::string_view text, size_t offset) {
  if (offset >= text.size()) return {};
  const auto first = static_cast<uint8_t>(text[offset]);
  if (first < 0x80) return {first, 1, kAsciiClasses[first]};
  const utf8::Decoded decoded = utf8::decode(text.substr(offset));
  return {decoded.code_point, decoded.size, classify(decoded.code_point)};
}

Char char_before(std::string_view text, size_t offset) {
  if (offset == 0) return {};
  size_t begin = offset - 1;
  while (begin > 0 && offset - begin < 4 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) {
    --begin;
  }
  Char found = char_at(text.substr(0, offset), begin);
  found.size = static_cast<uint32_t>(offset - begin);
  return found;
}

bool is_word(char32_t c) {
  if (c < 0x80) return (kAsciiClasses[c] & (kLetter | kDigit)) != 0 || c == '_';
  const utf8proc_category_t category = category_of(c);
  if ((classes_of_category(category) & (kLetter | kMark | kDigit)) != 0) return true;
  if (category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_PC) return true;
  // Letters in circles and squares are symbols by category but Alphabetic; the joiners join words.
  return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
         (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189) || c == 0x200C ||
         c == 0x200D;
}

bool is_bert_punctuation(char32_t c) {
  if (c < 0x80) return (kAsciiClasses[c] & (kPunctuation | kSymbol)) != 0;
  return (classes_of_category(category_of(c)) & kPunctuation) != 0;
}

bool is_nonspacing_mark(char32_t c) {
  return category_of(c) == UTF8PROC_CATEGORY_MN;
}

bool is_other(char32_t c) {
  const utf8proc_category_t category = category_of(c);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CO;
}

}  // namespace ingot::tok

// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja/unicode_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/utf8.h"

namespace ingot::jinja {
namespace {

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

utf8proc_category_t category(char32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

struct Expansion {
  char32_t from;
  char32_t to[3];
};

// Upper case of one character that is several (Unicode's SpecialCasing, without conditions).
constexpr Expansion kUpperExpansions[] = {
    {0x00DF, {'S', 'S', 0}},
    {0x0149, {0x02BC, 'N', 0}},
    {0x01F0, {'J', 0x030C, 0}},
    {0x0390, {0x0399, 0x0308, 0x0301}},
    {0x03B0, {0x03A5, 0x0308, 0x0301}},
    {0x0587, {0x0535, 0x0552, 0}},
    {0x1E96, {'H', 0x0331, 0}},
    {0x1E97, {'T', 0x0308, 0}},
    {0x1E98, {'W', 0x030A, 0}},
    {0x1E99, {'Y', 0x030A, 0}},
    {0x1E9A, {'A', 0x02BE, 0}},
    {0xFB00, {'F', 'F', 0}},
    {0xFB01, {'F', 'I', 0}},
    {0xFB02, {'F', 'L', 0}},
    {0xFB03, {'F', 'F', 'I'}},
    {0xFB04, {'F', 'F', 'L'}},
    {0xFB05, {'S', 'T', 0}},
    {0xFB06, {'S', 'T', 0}},
};

void append_upper(TextBuilder& out, char32_t code_point) {
  if (code_point >= 0x80) {
    for (const Expansion& expansion : kUpperExpansions) {
      if (expansion.from != code_point) continue;
      for (const char32_t to : expansion.to) {
        if (to != 0) out.append_code_point(to);
      }
      return;
    }
  }
  out.append_code_point(
      static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code_point))));
}

// As append_upper, but only the first letter of an expansion stays large.
void append_title(TextBuilder& out, char32_t code_point) {
  if (code_point >= 0x80) {
    for (const Expansion& expansion : kUpperExpansions) {
      if (expansion.from != code_point) continue;
      out.append_code_point(expansion.to[0]);
      for (size_t i = 1; i < 3 && expansion.to[i] != 0; ++i) {
        out.append_code_point(static_cast<char32_t>(
            utf8proc_tolower(static_cast<utf8proc_int32_t>(expansion.to[i]))));
      }
      return;
    }
  }
  out.append_code_point(
      static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(code_point))));
}

bool is_cased(char32_t code_point) {
  return is_lower(code_point) || is_upper(code_point) || is_title(code_point);
}

bool is_case_ignorable(char32_t code_point) {
  switch (category(code_point)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return code_point == '\'' || code_point == '.' || code_point == ':' || code_point == 0xB7 ||
             code_point == 0x2019;
  }
}

// Greek sigma ends a word as ς: a cased letter before it and none after.
bool is_final_sigma(std::string_view text, size_t at) {
  size_t before = at;
  bool has_letter = false;
  while (before > 0) {
    const std::string_view character = last_character(text.substr(0, before));
    before -= character.size();
    const char32_t code_point = utf8::decode(character).code_point;
    if (is_case_ignorable(code_point)) continue;
    has_letter = is_cased(code_point);
    break;
  }
  if (!has_letter) return false;
  for (size_t after = at + 2; after < text.size();) {
    const utf8::Decoded next = utf8::decode(text.substr(after));
    after += next.size;
    if (is_case_ignorable(next.code_point)) continue;
    return !is_cased(next.code_point);
  }
  return true;
}

void append_lower(TextBuilder& out, std::string_view text, size_t at, char32_t code_point) {
  constexpr char32_t kSigma = 0x03A3;
  constexpr char32_t kDottedI = 0x0130;
  if (code_point == kSigma) {
    out.append_code_point(is_final_sigma(text, at) ? 0x03C2 : 0x03C3);
  } else if (code_point == kDottedI) {
    out.append_code_point('i');
    out.append_code_point(0x0307);
  } else {
    out.append_code_point(
        static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code_point))));
  }
}

template <class IsStripped>
std::string_view strip_left_if(std::string_view text, const IsStripped& is_stripped) {
  while (!text.empty()) {
    const utf8::Decoded next = utf8::decode(text);
    if (!is_stripped(next.code_point)) break;
    text.remove_prefix(next.size);
  }
  return text;
}

template <class IsStripped>
std::string_view strip_right_if(std::string_view text, const IsStripped& is_stripped) {
  while (!text.empty()) {
    const std::string_view last = last_character(text);
    if (!is_stripped(utf8::decode(last).code_point)) break;
    text.remove_suffix(last.size());
  }
  return text;
}

// The characters to strip; sorted when they are many, since each is looked up for each character.
class CharacterSet {
 public:
  explicit CharacterSet(std::string_view chars) {
    while (!chars.empty()) {
      const utf8::Decoded next = utf8::decode(chars);
      members_.push_back(next.code_point);
      chars.remove_prefix(next.size);
    }
    std::ranges::sort(members_);
  }
  bool operator()(char32_t code_point) const {
    return std::ranges::binary_search(members_, code_point);
  }

 private:
  std::vector<char32_t> members_;
};

}  // namespace

std::string_view last_character(std::string_view text) {
  size_t size = 1;
  while (size < text.size() && size < 4 && is_continuation(text[text.size() - size]))
    ++size;
  return text.substr(text.size() - size);
}

size_t count_code_points(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char byte) { return !is_continuation(byte); }));
}

size_t length_of(StringObject& string) {
  if (string.code_points == StringObject::kUncounted) {
    string.code_points = count_code_points(string.bytes);
  }
  return string.code_points;
}

size_t byte_offset(StringObject& string, size_t index) {
  const size_t length = length_of(string);
  if (length == string.bytes.size()) return index;  // ASCII
  if (index >= length) return string.bytes.size();
  size_t at = string.cursor_byte;
  size_t position = string.cursor_index;
  if (index < position / 2) {
    at = 0;
    position = 0;
  }
  for (; position < index; ++position)
    at += first_character(string.bytes.substr(at)).size();
  while (position > index) {
    --at;
    if (!is_continuation(string.bytes[at])) --position;
  }
  string.cursor_byte = at;
  string.cursor_index = index;
  return at;
}

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_alpha(char32_t code_point) {
  const utf8proc_category_t kind = category(code_point);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t code_point) {
  return category(code_point) == UTF8PROC_CATEGORY_ND;
}

bool is_digit(char32_t c) {
  // Beyond decimals: superscripts, subscripts and circled digits.
  return is_decimal(c) || c == 0xB2 || c == 0xB3 || c == 0xB9 || c == 0x2070 ||
         (c >= 0x2074 && c <= 0x2079) || (c >= 0x2080 && c <= 0x2089) ||
         (c >= 0x2460 && c <= 0x2468);
}

bool is_alnum(char32_t code_point) {
  const utf8proc_category_t kind = category(code_point);
  return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO) ||
         (kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO);
}

bool is_lower(char32_t code_point) {
  if (code_point < 0x80) return code_point >= 'a' && code_point <= 'z';
  return category(code_point) == UTF8PROC_CATEGORY_LL || code_point == 0xAA || code_point == 0xBA;
}

bool is_upper(char32_t code_point) {
  if (code_point < 0x80) return code_point >= 'A' && code_point <= 'Z';
  return category(code_point) == UTF8PROC_CATEGORY_LU;
}

bool is_title(char32_t code_point) {
  return code_point >= 0x80 && category(code_point) == UTF8PROC_CATEGORY_LT;
}

bool is_printable(char32_t code_point) {
  if (code_point < 0x7F) return code_point >= 0x20;
  switch (category(code_point)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    default:
      return true;
  }
}

bool is_line_break(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

std::string_view strip_left(std::string_view text) {
  return strip_left_if(text, is_space);
}
std::string_view strip_right(std::string_view text) {
  return strip_right_if(text, is_space);
}
std::string_view strip_left(std::string_view text, std::string_view chars) {
  return strip_left_if(text, CharacterSet(chars));
}
std::string_view strip_right(std::string_view text, std::string_view chars) {
  return strip_right_if(text, CharacterSet(chars));
}

void append_cased(TextBuilder& out, std::string_view text, Case how) {
  out.fail(out.heap().budget().scan(text.size()));
  bool is_after_cased = false;
  for (size_t at = 0; at < text.size() && !out.has_failed();) {
    const utf8::Decoded next = utf8::decode(text.substr(at));
    const bool is_first = how == Case::kCapitalize ? at == 0 : !is_after_cased;
    const bool is_large = how == Case::kUpper || (how == Case::kSwap && is_lower(next.code_point));
    if (is_large) {
      append_upper(out, next.code_point);
    } else if ((how == Case::kCapitalize || how == Case::kTitle) && is_first) {
      append_title(out, next.code_point);
    } else if (how == Case::kSwap && !is_upper(next.code_point)) {
      out.append_code_point(next.code_point);
    } else {
      append_lower(out, text, at, next.code_point);
    }
    is_after_cased = is_cased(next.code_point);
    at += next.size;
  }
}

size_t find_text(std::string_view text, std::string_view needle, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (needle.empty()) return from;
  if (needle.size() > text.size() - from) return std::string_view::npos;
  // memmem is linear (two-way); string_view::find is not.
  const void* found = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

}  // namespace ingot::jinja

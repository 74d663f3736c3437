// SPDX-License-Identifier: Apache-2.0
#include "eval/response_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace ingot {
namespace {

enum class Case : uint8_t { kNone, kUpper, kLower };

Case case_of(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
      return Case::kUpper;
    case UTF8PROC_CATEGORY_LL:
      return Case::kLower;
    default:
      return Case::kNone;
  }
}

// Calls visit(code point, where it begins, where it ends).
template <class Visit>
void for_each_character(std::string_view text, Visit&& visit) {
  for (size_t at = 0; at < text.size();) {
    const utf8::Decoded c = utf8::decode(text.substr(at));
    visit(c.code_point, at, at + c.size);
    at += c.size;
  }
}

bool is_blank(char32_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r') || c == 0xA0 || c == 0x3000;
}

bool is_ender(char32_t c) {
  return c == '.' || c == '!' || c == '?' || c == 0x2026 || c == 0x3002 || c == 0xFF01 ||
         c == 0xFF1F || c == 0x0964 || c == 0x06D4 || c == 0x061F;
}

bool is_closer(char32_t c) {
  return c == '"' || c == '\'' || c == ')' || c == ']' || c == '*' || c == '}' || c == 0x2019 ||
         c == 0x201D || c == 0xBB;
}

constexpr std::array<std::string_view, 24> kAbbreviations = {
    "mr", "mrs", "ms", "dr",  "prof", "sr",  "jr",  "st",  "vs",   "etc",    "e.g",  "i.e",
    "no", "inc", "co", "ltd", "gen",  "col", "rev", "hon", "capt", "approx", "dept", "fig"};

// Whether the dot at the end of `before` belongs to its last word: "Dr", "J", "e.g".
bool is_abbreviated(std::string_view before) {
  const size_t blank = before.find_last_of(" \t\n(\"'");
  const std::string word =
      to_lower(blank == std::string_view::npos ? before : before.substr(blank + 1));
  if (word.size() == 1 && word[0] >= 'a' && word[0] <= 'z' && word != "i") return true;
  return std::ranges::find(kAbbreviations, std::string_view(word)) != kAbbreviations.end();
}

// Whether the first visible character of `text` is a small letter: then no sentence begins there.
bool begins_small(std::string_view text) {
  bool is_small = false;
  bool is_found = false;
  for_each_character(text.substr(0, 64), [&](char32_t c, size_t, size_t) {
    if (is_found || is_blank(c)) return;
    is_found = true;
    is_small = case_of(c) == Case::kLower;
  });
  return is_small;
}

}  // namespace

std::string to_lower(std::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  for_each_character(text, [&](char32_t c, size_t begin, size_t end) {
    if (c == utf8::kReplacement) {
      lower.append(text.substr(begin, end - begin));
    } else {
      utf8::append(lower, static_cast<char32_t>(utf8proc_tolower(static_cast<int32_t>(c))));
    }
  });
  return lower;
}

bool is_word_character(char32_t c) {
  if (c == '_') return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return true;
    default:
      return false;
  }
}

int64_t count_words(std::string_view text) {
  int64_t count = 0;
  bool is_inside = false;
  for_each_character(text, [&](char32_t c, size_t, size_t) {
    const bool is_word = is_word_character(c);
    if (is_word && !is_inside) ++count;
    is_inside = is_word;
  });
  return count;
}

int64_t count_sentences(std::string_view text) {
  int64_t count = 0;
  bool has_text = false;   // since the last end
  bool is_ending = false;  // behind an ender, waiting for a blank
  bool is_dot = false;
  size_t end_at = 0;
  const auto close = [&](size_t next) {
    is_ending = false;
    // A lone dot may belong to the word; what follows in small letters goes on.
    if (is_dot && (is_abbreviated(text.substr(0, end_at)) || begins_small(text.substr(next))))
      return;
    ++count;
    has_text = false;
  };
  for_each_character(text, [&](char32_t c, size_t begin, size_t end) {
    if (is_ender(c)) {
      if (!has_text) return;
      is_dot = c == '.' && !is_ending;
      if (!is_ending) end_at = begin;
      is_ending = true;
      if (c >= 0x80) close(end);  // scripts that put no blank after it
      return;
    }
    if (is_ending && is_closer(c)) return;
    if (is_blank(c)) {
      if (is_ending) close(end);
      return;
    }
    is_ending = false;
    if (is_word_character(c)) has_text = true;
  });
  if (has_text) ++count;
  return count;
}

int64_t count_capital_words(std::string_view text) {
  int64_t count = 0;
  size_t begin = 0;
  const auto close = [&](size_t end) {
    if (end > begin && is_all_upper(text.substr(begin, end - begin))) ++count;
  };
  for_each_character(text, [&](char32_t c, size_t at, size_t end) {
    // Hyphens, dots and apostrophes are inside of words.
    if (is_word_character(c) || c == '-' || c == '.' || c == '\'' || c == 0x2019) return;
    close(at);
    begin = end;
  });
  close(text.size());
  return count;
}

bool is_all_upper(std::string_view text) {
  bool has_upper = false;
  bool has_lower = false;
  for_each_character(text, [&](char32_t c, size_t, size_t) {
    has_upper = has_upper || case_of(c) == Case::kUpper;
    has_lower = has_lower || case_of(c) == Case::kLower;
  });
  return has_upper && !has_lower;
}

bool is_all_lower(std::string_view text) {
  bool has_upper = false;
  bool has_lower = false;
  for_each_character(text, [&](char32_t c, size_t, size_t) {
    has_upper = has_upper || case_of(c) == Case::kUpper;
    has_lower = has_lower || case_of(c) == Case::kLower;
  });
  return has_lower && !has_upper;
}

int64_t count_of(std::string_view text, std::string_view part) {
  if (part.empty()) return 0;
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size()))
    ++count;
  return count;
}

bool has_whole_word(std::string_view text, std::string_view word) {
  if (word.empty()) return false;
  const auto is_word_at = [&](size_t at) {  // the character that begins there
    return at < text.size() && is_word_character(utf8::decode(text.substr(at)).code_point);
  };
  const auto is_word_before = [&](size_t at) {
    if (at == 0) return false;
    size_t begin = at - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0u) == 0x80u)
      --begin;
    return is_word_at(begin);
  };
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    // A boundary lies between a word character and something else.
    if (is_word_before(at) != is_word_at(at) && is_word_before(end) != is_word_at(end)) return true;
  }
  return false;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t at = text.find(separator); at != std::string_view::npos;
       at = text.find(separator, begin)) {
    parts.push_back(text.substr(begin, at - begin));
    begin = at + separator.size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

}  // namespace ingot

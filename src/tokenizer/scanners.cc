// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/scanners.h"

#include <algorithm>

#include "tokenizer/known_patterns.h"
#include "tokenizer/unicode.h"

namespace ingot::tok {

namespace {

// The end of the run of characters of these classes that begins at `at`.
size_t run_of(std::string_view text, size_t at, uint32_t classes) {
  for (Char c = char_at(text, at); c.is(classes); c = char_at(text, at))
    at += c.size;
  return at;
}

// The end of the run of characters of none of these classes.
size_t run_without(std::string_view text, size_t at, uint32_t classes) {
  for (Char c = char_at(text, at); c.size != 0 && !c.is(classes); c = char_at(text, at))
    at += c.size;
  return at;
}

// 's 't 're 've 'm 'll 'd: the end of the one at `at`, or `at`. In any case U+017F is an s.
size_t contraction(std::string_view text, size_t at, bool any_case) {
  if (at >= text.size() || text[at] != '\'') return at;
  const auto letter = [&](size_t offset) -> char {
    if (offset >= text.size()) return '\0';
    const char c = text[offset];
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const char first = letter(at + 1);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  const char second = letter(at + 2);
  if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
      (first == 'l' && second == 'l')) {
    return at + 3;
  }
  if (any_case && text.substr(at + 1).starts_with("\u017f")) return at + 3;
  return at;
}

// \s+(?!\S)|\s+ : a run of spaces leaves its last one to the word that follows.
size_t spaces(std::string_view text, size_t at) {
  const size_t end = run_of(text, at, kSpace);
  if (end == text.size() || end == at) return end;
  const size_t last = end - char_before(text, end).size;
  return last > at ? last : end;
}

// \s*[\r\n]+ and then the above.
size_t spaces_with_newlines(std::string_view text, size_t at) {
  size_t end = at;
  size_t newline_end = at;
  for (Char c = char_at(text, end); c.is(kSpace); c = char_at(text, end)) {
    end += c.size;
    if (c.is(kNewline)) newline_end = end;
  }
  if (newline_end > at) return newline_end;
  if (end == text.size() || end == at) return end;
  const size_t last = end - char_before(text, end).size;
  return last > at ? last : end;
}

// \p{N}{1,most}
size_t numbers(std::string_view text, size_t at, int most) {
  for (int i = 0; i < most; ++i) {
    const Char c = char_at(text, at);
    if (!c.is(kNumber)) break;
    at += c.size;
  }
  return at;
}

size_t gpt2(std::string_view text, size_t at) {
  const size_t after = contraction(text, at, false);
  if (after > at) return after;
  const size_t word = at + (text[at] == ' ' ? 1 : 0);
  const Char c = char_at(text, word);
  if (c.is(kLetter)) return run_of(text, word, kLetter);
  if (c.is(kNumber)) return run_of(text, word, kNumber);
  if (c.size != 0 && !c.is(kSpace)) return run_without(text, word, kSpace | kLetter | kNumber);
  return spaces(text, at);
}

// The family of cl100k: words take one character that is no letter in front.
struct Cl100kRules {
  uint32_t word = kLetter;
  int most_digits = 3;
};

template <Cl100kRules kRules>
size_t cl100k(std::string_view text, size_t at) {
  const size_t after = contraction(text, at, true);
  if (after > at) return after;
  const Char first = char_at(text, at);
  if (!first.is(kNewline | kLetter | kNumber) && char_at(text, at + first.size).is(kRules.word)) {
    return run_of(text, at + first.size, kRules.word);
  }
  if (first.is(kRules.word)) return run_of(text, at, kRules.word);
  if (first.is(kNumber)) return numbers(text, at, kRules.most_digits);
  constexpr uint32_t kNotOther = kSpace | kNumber | kRules.word;
  const size_t other = at + (first.code_point == ' ' ? 1 : 0);
  const size_t end = run_without(text, other, kNotOther);
  if (end > other) return run_of(text, end, kNewline);
  return spaces_with_newlines(text, at);
}

// The family of o200k: words are cut where a capital follows a small letter.
struct O200kRules {
  bool has_contractions = true;
  int most_digits = 3;
};

constexpr uint32_t kUpperSet = kLetterUpper | kLetterOther | kMark;
constexpr uint32_t kLowerSet = kLetterLower | kLetterOther | kMark;

// [upper]*[lower]+ at `at`: the end, or `at`. Where no small letter follows the run of capitals,
// the run gives back down to its last character that counts as both.
size_t capitals_then_small(std::string_view text, size_t at) {
  size_t both_end = at;  // behind the last character of both sets
  size_t end = at;
  for (Char c = char_at(text, end); c.is(kUpperSet); c = char_at(text, end)) {
    end += c.size;
    if (c.is(kLowerSet)) both_end = end;
  }
  const size_t small = run_of(text, end, kLowerSet);
  return small > end ? small : both_end;
}

// [upper]+[lower]*
size_t capitals(std::string_view text, size_t at) {
  const size_t end = run_of(text, at, kUpperSet);
  return end > at ? run_of(text, end, kLowerSet) : at;
}

template <O200kRules kRules>
size_t o200k(std::string_view text, size_t at) {
  const Char first = char_at(text, at);
  const bool has_prefix = !first.is(kNewline | kLetter | kNumber);
  for (const auto word : {capitals_then_small, capitals}) {
    size_t begin = at + (has_prefix ? first.size : 0U);
    size_t end = word(text, begin);
    if (end == begin && has_prefix) {
      begin = at;
      end = word(text, begin);
    }
    if (end == begin) continue;
    return kRules.has_contractions ? contraction(text, end, true) : end;
  }
  if (first.is(kNumber)) return numbers(text, at, kRules.most_digits);
  const size_t other = at + (first.code_point == ' ' ? 1 : 0);
  size_t end = run_without(text, other, kSpace | kLetter | kNumber);
  if (end == other) return spaces_with_newlines(text, at);
  while (end < text.size() && (text[end] == '\r' || text[end] == '\n' || text[end] == '/'))
    ++end;
  return end;
}

bool is_ascii_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

size_t deepseek3(std::string_view text, size_t at) {
  const Char first = char_at(text, at);
  if (first.code_point < 0x80 && first.is(kPunctuation | kSymbol) && at + 1 < text.size() &&
      is_ascii_letter(text[at + 1])) {
    size_t end = at + 2;
    while (end < text.size() && is_ascii_letter(text[end]))
      ++end;
    return end;
  }
  constexpr uint32_t kWord = kLetter | kMark;
  if (!first.is(kNewline | kLetter | kPunctuation | kSymbol) &&
      char_at(text, at + first.size).is(kWord)) {
    return run_of(text, at + first.size, kWord);
  }
  if (first.is(kWord)) return run_of(text, at, kWord);
  const size_t other = at + (first.code_point == ' ' ? 1 : 0);
  const size_t end = run_of(text, other, kPunctuation | kSymbol);
  if (end > other) return run_of(text, end, kNewline);
  return spaces_with_newlines(text, at);
}

template <int kMost>
size_t number_run(std::string_view text, size_t at) {
  return numbers(text, at, kMost);
}

size_t cjk_run(std::string_view text, size_t at) {
  while (true) {
    const Char c = char_at(text, at);
    const bool is_member = (c.code_point >= 0x4E00 && c.code_point <= 0x9FA5) ||
                           (c.code_point >= 0x3040 && c.code_point <= 0x30FF);
    if (c.size == 0 || !is_member) return at;
    at += c.size;
  }
}

// Tries `match` at each place; a place where it finds nothing belongs to the stretch in between.
template <size_t (*kMatch)(std::string_view, size_t)>
void scan(std::string_view text, std::vector<Span>& spans) {
  SpanList list(text, spans);
  for (size_t at = 0; at < text.size();) {
    const size_t end = kMatch(text, at);
    if (end > at) {
      list.match(at, end);
      at = end;
    } else {
      at += char_at(text, at).size;
    }
  }
  list.finish();
}

// \s+$ with $ at the end and before each newline.
void space_at_end(std::string_view text, std::vector<Span>& spans) {
  SpanList list(text, spans);
  for (size_t at = 0; at < text.size();) {
    const Char first = char_at(text, at);
    if (!first.is(kSpace)) {
      at += first.size;
      continue;
    }
    size_t last_newline = at;
    size_t end = at;
    for (Char c = char_at(text, end); c.is(kSpace); c = char_at(text, end)) {
      if (c.code_point == '\n') last_newline = end;
      end += c.size;
    }
    if (end == text.size()) {
      list.match(at, end);
    } else if (last_newline > at) {
      list.match(at, last_newline);
    }
    at = end;
  }
  list.finish();
}

// [^\n]+|[\n]+
size_t lines(std::string_view text, size_t at) {
  const bool is_newline = text[at] == '\n';
  const size_t end = is_newline ? text.find_first_not_of('\n', at) : text.find('\n', at);
  return end == std::string_view::npos ? text.size() : end;
}

// Calls `visit` for each run of digits with the places of the digits and where the run ends.
template <uint32_t kDigits, class Visit>
void for_each_digit_run(std::string_view text, const Visit& visit) {
  std::vector<size_t> digits;
  for (size_t at = 0; at < text.size();) {
    const Char c = char_at(text, at);
    if (!c.is(kDigits)) {
      at += c.size;
      continue;
    }
    digits.clear();
    size_t end = at;
    for (Char d = c; d.is(kDigits); d = char_at(text, end)) {
      digits.push_back(end);
      end += d.size;
    }
    visit(digits, end);
    at = end;
  }
}

// What \b sees behind a digit: Oniguruma counts Latin-1's fractions and superscripts as words.
bool continues_word(const Char& c) {
  if (c.size == 0 || c.code_point == 0x200C || c.code_point == 0x200D) return false;
  const char32_t p = c.code_point;
  return is_word(p) || p == 0xB2 || p == 0xB3 || p == 0xB9 || (p >= 0xBC && p <= 0xBE);
}

template <uint32_t kDigits, bool kNeedsWordEnd>
void digit_groups(std::string_view text, std::vector<Span>& spans) {
  SpanList list(text, spans);
  for_each_digit_run<kDigits>(text, [&](const std::vector<size_t>& digits, size_t end) {
    if (kNeedsWordEnd && continues_word(char_at(text, end))) return;
    size_t first = 0;
    size_t count = digits.size() % 3 == 0 ? 3 : digits.size() % 3;
    while (first < digits.size()) {
      const size_t next = first + count;
      list.match(digits[first], next < digits.size() ? digits[next] : end);
      first = next;
      count = 3;
    }
  });
  list.finish();
}

void digit_cuts(std::string_view text, std::vector<Span>& spans) {
  SpanList list(text, spans);
  for_each_digit_run<kDigit>(text, [&](const std::vector<size_t>& digits, size_t) {
    for (size_t i = digits.size() % 3; i < digits.size(); i += 3)
      list.match(digits[i], digits[i]);
  });
  list.finish();
}

struct Entry {
  std::string_view pattern;
  Scanner scanner;
};

constexpr int kUnlimited = 0x7FFFFFFF;

constexpr Entry kScanners[] = {
    {patterns::kGpt2, scan<gpt2>},
    {patterns::kLlama3, scan<cl100k<Cl100kRules{kLetter, 3}>>},
    {patterns::kQwen2, scan<cl100k<Cl100kRules{kLetter, 1}>>},
    {patterns::kQwen35, scan<cl100k<Cl100kRules{kLetter | kMark, 1}>>},
    {patterns::kMiniCpm5, scan<cl100k<Cl100kRules{kLetter, kUnlimited}>>},
    {patterns::kBailing, scan<cl100k<Cl100kRules{kLetter, 1}>>},
    {patterns::kCl100k, scan<cl100k<Cl100kRules{kLetter, 3}>>},
    {patterns::kO200k, scan<o200k<O200kRules{true, 3}>>},
    {patterns::kTekken, scan<o200k<O200kRules{false, 1}>>},
    {patterns::kDeepseek3, scan<deepseek3>},
    {patterns::kDeepseek3Escaped, scan<deepseek3>},
    {patterns::kNumbers3, scan<number_run<3>>},
    {patterns::kNumber, scan<number_run<1>>},
    {patterns::kNumbers, scan<number_run<kUnlimited>>},
    {patterns::kCjkRuns, scan<cjk_run>},
    {patterns::kSpaceAtEnd, space_at_end},
    {patterns::kLines, scan<lines>},
    {patterns::kDigitGroups, digit_groups<kDigit, true>},
    {patterns::kNumberGroups, digit_groups<kNumber, false>},
    {patterns::kDigitCuts, digit_cuts},
};

}  // namespace

Scanner find_scanner(std::string_view pattern) {
  const auto* found = std::find_if(std::begin(kScanners), std::end(kScanners),
                                   [&](const Entry& entry) { return entry.pattern == pattern; });
  return found == std::end(kScanners) ? nullptr : found->scanner;
}

std::vector<std::string_view> scanned_patterns() {
  std::vector<std::string_view> all;
  for (const Entry& entry : kScanners)
    all.push_back(entry.pattern);
  return all;
}

}  // namespace ingot::tok

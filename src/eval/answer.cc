// SPDX-License-Identifier: Apache-2.0
#include "eval/answer.h"

#include <algorithm>

#include "base/ascii.h"
#include "eval/response_text.h"
#include "eval/tasks/task_file.h"

namespace ingot {
namespace {

// The number that begins at `at` (a digit, or a sign or dot before one), in one spelling: no
// commas, no zeros behind the last one that counts. Moves `at` behind it.
std::string read_number(std::string_view text, size_t& at) {
  std::string number;
  if (text[at] == '-') number.push_back(text[at++]);
  bool has_dot = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    const bool digit_follows = at + 1 < text.size() && is_digit(text[at + 1]);
    if (is_digit(c)) {
      number.push_back(c);
    } else if (c == '.' && !has_dot && digit_follows) {
      has_dot = true;
      if (number.empty() || number == "-") number.push_back('0');
      number.push_back(c);
    } else if (c != ',' || has_dot || !digit_follows) {
      break;
    }
  }
  if (has_dot) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
  }
  const size_t sign = number[0] == '-' ? 1 : 0;
  while (number.size() > sign + 1 && number[sign] == '0' && number[sign + 1] != '.')
    number.erase(sign, 1);
  return number;
}

bool begins_number(std::string_view text, size_t at) {
  const auto digit_at = [&](size_t i) { return i < text.size() && is_digit(text[i]); };
  if (digit_at(at)) return true;
  if (text[at] == '.') return digit_at(at + 1);
  // A minus after a digit is a subtraction or a range.
  return text[at] == '-' && (at == 0 || !is_digit(text[at - 1])) &&
         (digit_at(at + 1) || (at + 1 < text.size() && text[at + 1] == '.' && digit_at(at + 2)));
}

}  // namespace

std::optional<std::string> last_number(std::string_view text) {
  std::optional<std::string> found;
  for (size_t at = 0; at < text.size();) {
    if (begins_number(text, at)) {
      found = read_number(text, at);
    } else {
      ++at;
    }
  }
  return found;
}

std::optional<std::string> number_after_marks(std::string_view text) {
  const size_t marks = text.rfind("####");
  if (marks == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(marks + 4);
  rest = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t$"), rest.size()));
  // "-$5"
  if (rest.starts_with("-$")) {
    size_t at = 0;
    const std::string signed_text = "-" + std::string(rest.substr(2));
    if (!begins_number(signed_text, 0)) return std::nullopt;
    return read_number(signed_text, at);
  }
  size_t at = 0;
  if (rest.empty() || !begins_number(rest, 0)) return std::nullopt;
  return read_number(rest, at);
}

std::optional<std::string> extract_answer(std::string_view text, Extraction extraction) {
  switch (extraction) {
    case Extraction::kAll:
      return std::string(trim(text));
    case Extraction::kFirstLine: {
      const std::string_view trimmed = trim(text);
      return std::string(trim(trimmed.substr(0, trimmed.find('\n'))));
    }
    case Extraction::kNumber: {
      std::optional<std::string> number = number_after_marks(text);
      return number ? number : last_number(text);
    }
  }
  return std::nullopt;
}

bool is_right_answer(const AnswerItem& item, std::string_view text) {
  const auto normal = [&](std::string_view value) {
    return item.ignores_case ? to_lower(value) : std::string(value);
  };
  if (item.is_contained) {
    const std::string whole = normal(text);
    return std::ranges::any_of(item.expected, [&](const std::string& expected) {
      return whole.find(normal(expected)) != std::string::npos;
    });
  }
  const std::optional<std::string> answer = extract_answer(text, item.extraction);
  if (!answer) return false;
  return std::ranges::any_of(item.expected, [&](const std::string& expected) {
    // Both sides in one spelling.
    const std::optional<std::string> wanted = extract_answer(expected, item.extraction);
    return wanted && normal(*answer) == normal(*wanted);
  });
}

bool is_strictly_right(const AnswerItem& item, std::string_view text) {
  if (item.extraction == Extraction::kNumber && !number_after_marks(text)) return false;
  return is_right_answer(item, text);
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "api/python_literal.h"

#include <charconv>
#include <cstdint>

#include "api/json_scanner.h"
#include "api/json_text.h"
#include "base/ascii.h"
#include "base/limits.h"
#include "base/utf8.h"

namespace ingot {
namespace {

bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Reads from the front of the text and appends JSON. Every function says whether it could.
class Converter {
 public:
  explicit Converter(std::string_view text) : text_(text) {}

  bool arguments() {
    out_ += '{';
    skip_space();
    for (bool is_first = true; !text_.empty(); is_first = false) {
      if (!is_first) out_ += ", ";
      const std::string_view name = word();
      if (name.empty() || is_digit(name.front()) || !take('=')) return false;
      append_json_string(out_, name);
      out_ += ": ";
      if (!value(0)) return false;
      if (!take(',') && !text_.empty()) return false;
    }
    out_ += '}';
    return true;
  }

  std::string result() && { return std::move(out_); }

 private:
  void skip_space() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\t' ||
                              text_.front() == '\n' || text_.front() == '\r'))
      text_.remove_prefix(1);
  }

  // With the blanks around it.
  bool take(char c) {
    skip_space();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    skip_space();
    return true;
  }

  std::string_view word() {
    size_t size = 0;
    while (size < text_.size() && is_word(text_[size]))
      ++size;
    const std::string_view word = text_.substr(0, size);
    text_.remove_prefix(size);
    return word;
  }

  bool value(size_t depth) {
    if (text_.empty() || depth == limits::kJsonDepth) return false;
    switch (text_.front()) {
      case '"':
      case '\'':
        return string();
      case '[':
        return list(']', depth);
      case '(':
        return list(')', depth);
      case '{':
        return dict(depth);
      default:
        return text_.front() == '-' || text_.front() == '.' || is_digit(text_.front()) ? number()
                                                                                       : constant();
    }
  }

  bool constant() {
    const std::string_view name = word();
    if (name == "True" || name == "true") {
      out_ += "true";
    } else if (name == "False" || name == "false") {
      out_ += "false";
    } else if (name == "None" || name == "null") {
      out_ += "null";
    } else {
      return false;
    }
    return true;
  }

  // Python's spellings that JSON lacks are 1. and .5; anything else must be JSON's.
  bool number() {
    std::string digits;
    while (!text_.empty() && (is_word(text_.front()) || text_.front() == '.' ||
                              text_.front() == '+' || text_.front() == '-')) {
      const char c = text_.front();
      text_.remove_prefix(1);
      const bool is_bare = digits.empty() || !is_digit(digits.back());
      if (c == '.' && is_bare) digits += '0';
      digits += c;
      if (c == '.' && (text_.empty() || !is_digit(text_.front()))) digits += '0';
    }
    JsonScanner scanner;
    for (const char c : digits) {
      if (scanner.push(c) != JsonScanner::Step::kMore) return false;
    }
    if (scanner.push(' ') != JsonScanner::Step::kDoneBefore) return false;
    out_ += digits;
    return true;
  }

  bool list(char close, size_t depth) {
    out_ += '[';
    take(text_.front());
    for (bool is_first = true; !take(close); is_first = false) {
      if (!is_first) out_ += ", ";
      if (!value(depth + 1)) return false;
      if (take(',')) continue;
      if (!take(close)) return false;
      break;
    }
    out_ += ']';
    return true;
  }

  bool dict(size_t depth) {
    out_ += '{';
    take('{');
    for (bool is_first = true; !take('}'); is_first = false) {
      if (!is_first) out_ += ", ";
      if (text_.empty() || (text_.front() != '"' && text_.front() != '\'') || !string())
        return false;
      out_ += ": ";
      if (!take(':') || !value(depth + 1)) return false;
      if (take(',')) continue;
      if (!take('}')) return false;
      break;
    }
    out_ += '}';
    return true;
  }

  bool string() {
    const char quote = text_.front();
    text_.remove_prefix(1);
    out_ += '"';
    while (!text_.empty()) {
      const char c = text_.front();
      text_.remove_prefix(1);
      if (c == quote) {
        out_ += '"';
        return true;
      }
      if (c != '\\') {
        append_json_escaped(out_, {&c, 1});
      } else if (!escape()) {
        return false;
      }
    }
    return false;
  }

  bool escape() {
    if (text_.empty()) return false;
    const char c = text_.front();
    text_.remove_prefix(1);
    switch (c) {
      case 'n':
      case 't':
      case 'r':
      case 'b':
      case 'f':
        out_ += '\\';
        out_ += c;
        return true;
      case '\\':
      case '"':
      case '\'':
        append_json_escaped(out_, {&c, 1});
        return true;
      case 'x':
        return code_point(2);
      case 'u':
        return code_point(4);
      case 'U':
        return code_point(8);
      case '\n':
        return true;
      default:  // Python leaves what it does not know
        out_ += "\\\\";
        append_json_escaped(out_, {&c, 1});
        return true;
    }
  }

  bool code_point(size_t digits) {
    if (text_.size() < digits) return false;
    uint32_t value = 0;
    const auto [end, problem] = std::from_chars(text_.data(), text_.data() + digits, value, 16);
    if (problem != std::errc() || end != text_.data() + digits) return false;
    text_.remove_prefix(digits);
    std::string character;
    utf8::append(character, static_cast<char32_t>(value));
    append_json_escaped(out_, character);
    return true;
  }

  std::string_view text_;
  std::string out_;
};

}  // namespace

std::optional<std::string> python_arguments(std::string_view text) {
  Converter converter(text);
  if (!converter.arguments()) return std::nullopt;
  return std::move(converter).result();
}

}  // namespace ingot

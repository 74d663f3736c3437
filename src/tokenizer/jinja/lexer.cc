// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja/lexer.h"

#include <algorithm>

#include "base/utf8.h"
#include "tokenizer/jinja/unicode_text.h"

namespace ingot::jinja {
namespace {

bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}

int digit_value(char c) {
  if (is_ascii_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

// Length of the run of digits of `base` at `at`, single underscores between them allowed.
size_t digits(std::string_view text, size_t at, int base) {
  size_t end = at;
  while (end < text.size()) {
    size_t next = end;
    if (end > at && text[next] == '_') ++next;
    if (next >= text.size() || digit_value(text[next]) >= base) break;
    end = next + 1;
  }
  return end - at;
}

bool is_name_character(char32_t code_point) {
  return code_point == '_' || is_alnum(code_point);
}

struct Operator {
  std::string_view text;
  TokenType type;
};

// Longer ones first.
constexpr Operator kOperators[] = {
    {"//", TokenType::kFloorDiv},   {"**", TokenType::kPow},         {"==", TokenType::kEq},
    {"!=", TokenType::kNe},         {">=", TokenType::kGe},          {"<=", TokenType::kLe},
    {"+", TokenType::kAdd},         {"-", TokenType::kSub},          {"/", TokenType::kDiv},
    {"*", TokenType::kMul},         {"%", TokenType::kMod},          {"~", TokenType::kTilde},
    {"[", TokenType::kLeftBracket}, {"]", TokenType::kRightBracket}, {"(", TokenType::kLeftParen},
    {")", TokenType::kRightParen},  {"{", TokenType::kLeftBrace},    {"}", TokenType::kRightBrace},
    {">", TokenType::kGt},          {"<", TokenType::kLt},           {"=", TokenType::kAssign},
    {".", TokenType::kDot},         {":", TokenType::kColon},        {"|", TokenType::kPipe},
    {",", TokenType::kComma},       {";", TokenType::kSemicolon},
};

// Hexadecimal digits after \x, \u or \U; advances `at` past them.
Result<char32_t> hex_escape(std::string_view text, size_t& at, size_t count) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    const int digit = at + i < text.size() ? digit_value(text[at + i]) : 99;
    if (digit >= 16) return Status::invalid_data("a string has a truncated \\x, \\u or \\U escape");
    value = value * 16 + static_cast<uint32_t>(digit);
  }
  if (value > 0x10FFFF) return Status::invalid_data("a string has an escape past U+10FFFF");
  at += count;
  return static_cast<char32_t>(value);
}

Status append_unicode_escape(std::string& out, std::string_view text, size_t& at, size_t count) {
  INGOT_TRY(char32_t code_point, hex_escape(text, at, count));
  const bool is_high = code_point >= 0xD800 && code_point < 0xDC00;
  if (is_high && text.substr(at).starts_with("\\u")) {
    size_t after = at + 2;
    INGOT_TRY(const char32_t low, hex_escape(text, after, 4));
    if (low >= 0xDC00 && low < 0xE000) {
      code_point = 0x10000 + ((code_point - 0xD800) << 10) + (low - 0xDC00);
      at = after;
    }
  }
  utf8::append(out, code_point);
  return Status::ok();
}

// The escape whose letter stands at `at`; advances past it.
Status append_escape(std::string& out, std::string_view text, size_t& at) {
  constexpr std::string_view kLetters = "abfnrtv\\'\"";
  constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"";
  const char letter = text[at++];
  if (const size_t known = kLetters.find(letter); known != std::string_view::npos) {
    out += kMeanings[known];
  } else if (letter == '\n') {
    // A line continued: neither character stays.
  } else if (letter == 'x') {
    INGOT_TRY(const char32_t code_point, hex_escape(text, at, 2));
    utf8::append(out, code_point);
  } else if (letter == 'u') {
    return append_unicode_escape(out, text, at, 4);
  } else if (letter == 'U') {
    return append_unicode_escape(out, text, at, 8);
  } else if (letter == 'N') {
    return Status::invalid_data("\\N{{...}} escapes are not supported");
  } else if (letter >= '0' && letter <= '7') {
    uint32_t value = static_cast<uint32_t>(letter - '0');
    for (int i = 0; i < 2 && at < text.size() && text[at] >= '0' && text[at] <= '7'; ++i) {
      value = value * 8 + static_cast<uint32_t>(text[at++] - '0');
    }
    utf8::append(out, value);
  } else {
    out += '\\';
    out += letter;
  }
  return Status::ok();
}

}  // namespace

std::string normalize_source(std::string_view source) {
  std::string result;
  result.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      result += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      result += source[i];
    }
  }
  if (result.ends_with('\n')) result.pop_back();
  return result;
}

Result<std::string> unescape(std::string_view quoted) {
  const std::string_view text = quoted.substr(1, quoted.size() - 2);
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      result += text[at++];
      continue;
    }
    ++at;
    INGOT_TRY(append_escape(result, text, at));
  }
  return result;
}

void Lexer::advance(size_t to) {
  const std::string_view read = source_.substr(position_, to - position_);
  line_ += static_cast<uint32_t>(std::ranges::count(read, '\n'));
  if (!read.empty()) is_line_start_ = read.back() == '\n';
  position_ = to;
}

size_t Lexer::skip_spaces(size_t at) const {
  return source_.size() - strip_left(source_.substr(at)).size();
}

Token Lexer::take(TokenType type, size_t size) {
  const Token token{.type = type, .line = line_, .text = source_.substr(position_, size)};
  advance(position_ + size);
  return token;
}

Result<Token> Lexer::next() {
  switch (state_) {
    case State::kText:
      return next_text();
    case State::kRaw:
      return next_raw();
    default:
      return next_in_tag();
  }
}

std::string_view Lexer::stripped_before(std::string_view text, char sign, bool is_variable) const {
  if (sign == '-') return strip_right(text);
  if (sign == '+' || is_variable) return text;
  const size_t line_begin = text.rfind('\n') + 1;  // npos + 1 is 0
  if (line_begin == 0 && !is_line_start_) return text;
  return strip_left(text.substr(line_begin)).empty() ? text.substr(0, line_begin) : text;
}

// The text up to the next tag, or, where there is none in front of it, the tag's beginning.
Result<Token> Lexer::next_text() {
  while (position_ < source_.size()) {
    size_t tag = position_;
    while (tag < source_.size() &&
           !(source_[tag] == '{' && (at(tag, "{{") || at(tag, "{%") || at(tag, "{#")))) {
      tag = std::min(source_.find('{', tag + 1), source_.size());
    }
    if (tag == source_.size()) return take(TokenType::kData, tag - position_);

    const char kind = source_[tag + 1];
    size_t inside = tag + 2;
    const char sign = inside < source_.size() ? source_[inside] : '\0';
    if (sign == '-' || sign == '+') ++inside;
    const std::string_view text = source_.substr(position_, tag - position_);
    Token data{
        .type = TokenType::kData, .line = line_, .text = stripped_before(text, sign, kind == '{')};
    if (!data.text.empty()) {
      // The tag itself is read by the next call, and must not strip what was printed.
      advance(tag);
      is_line_start_ = false;
      return data;
    }
    advance(tag);
    if (kind == '#') {
      INGOT_TRY(skip_comment(inside));
    } else if (kind == '%' && enter_raw(inside)) {
      return next_raw();
    } else {
      state_ = kind == '{' ? State::kVariable : State::kBlock;
      return take(kind == '{' ? TokenType::kVariableBegin : TokenType::kBlockBegin, inside - tag);
    }
  }
  return take(TokenType::kEnd, 0);
}

Status Lexer::skip_comment(size_t begin) {
  const size_t end = source_.find("#}", begin);
  if (end == std::string_view::npos)
    return Status::invalid_data("line {}: a comment has no end", line_);
  size_t after = end + 2;
  const char sign = end > begin ? source_[end - 1] : '\0';
  if (sign == '-') {
    after = skip_spaces(after);
  } else if (sign != '+' && at(after, "\n")) {
    ++after;
  }
  advance(after);
  return Status::ok();
}

// `{% raw %}`, read from behind its delimiter.
bool Lexer::enter_raw(size_t inside) {
  size_t end = skip_spaces(inside);
  if (!at(end, "raw")) return false;
  end = skip_spaces(end + 3);
  if (at(end, "-%}")) {
    end = skip_spaces(end + 3);
  } else if (at(end, "%}")) {
    end += 2;
  } else {
    return false;
  }
  advance(end);
  state_ = State::kRaw;
  return true;
}

Result<Token> Lexer::next_raw() {
  for (size_t tag = position_; (tag = source_.find("{%", tag)) != std::string_view::npos;
       tag += 2) {
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    size_t end = skip_spaces(tag + (sign == '-' || sign == '+' ? 3 : 2));
    if (!at(end, "endraw")) continue;
    end = skip_spaces(end + 6);
    if (at(end, "+%}")) {
      end += 3;
    } else if (at(end, "-%}")) {
      end = skip_spaces(end + 3);
    } else if (at(end, "%}")) {
      end += at(end, "%}\n") ? 3 : 2;
    } else {
      continue;
    }
    const std::string_view text = source_.substr(position_, tag - position_);
    const Token data{
        .type = TokenType::kData, .line = line_, .text = stripped_before(text, sign, false)};
    advance(end);
    state_ = State::kText;
    return data;
  }
  return Status::invalid_data("line {}: a raw block has no end", line_);
}

Result<Token> Lexer::next_in_tag() {
  const bool is_block = state_ == State::kBlock;
  advance(skip_spaces(position_));
  if (position_ == source_.size()) return take(TokenType::kEnd, 0);
  if (open_.empty()) {
    const std::string_view close = is_block ? "%}" : "}}";
    const char sign = source_[position_];
    const bool has_sign = (sign == '-' || (sign == '+' && is_block)) && at(position_ + 1, close);
    if (has_sign || at(position_, close)) {
      size_t end = position_ + (has_sign ? 3 : 2);
      if (has_sign && sign == '-') {
        end = skip_spaces(end);
      } else if (!has_sign && is_block && at(end, "\n")) {
        ++end;
      }
      state_ = State::kText;
      return take(is_block ? TokenType::kBlockEnd : TokenType::kVariableEnd, end - position_);
    }
  }
  const char c = source_[position_];
  if (is_ascii_digit(c)) return number();
  if (c == '\'' || c == '"') return string_literal();
  size_t end = position_;
  while (end < source_.size()) {
    const utf8::Decoded next = utf8::decode(source_.substr(end));
    if (!is_name_character(next.code_point)) break;
    end += next.size;
  }
  if (end > position_) return take(TokenType::kName, end - position_);
  return operator_token();
}

Result<Token> Lexer::number() {
  const std::string_view rest = source_.substr(position_);
  const bool is_after_dot = position_ > 0 && source_[position_ - 1] == '.';
  const size_t whole = digits(rest, 0, 10);
  size_t end = whole;
  if (end < rest.size() && rest[end] == '.') {
    const size_t fraction = digits(rest, end + 1, 10);
    if (fraction > 0) end += 1 + fraction;
  }
  if (end < rest.size() && (rest[end] == 'e' || rest[end] == 'E')) {
    size_t exponent = end + 1;
    if (exponent < rest.size() && (rest[exponent] == '+' || rest[exponent] == '-')) ++exponent;
    const size_t size = digits(rest, exponent, 10);
    if (size > 0) end = exponent + size;
  }
  if (end > whole && !is_after_dot) return take(TokenType::kFloat, end);
  if (rest[0] == '0' && rest.size() > 1) {
    const char marker = static_cast<char>(rest[1] | 0x20);
    const int base = marker == 'b' ? 2 : marker == 'o' ? 8 : marker == 'x' ? 16 : 0;
    if (base != 0) {
      const size_t underscore = rest.size() > 2 && rest[2] == '_' ? 1 : 0;
      const size_t size = digits(rest, 2 + underscore, base);
      if (size > 0) return take(TokenType::kInteger, 2 + underscore + size);
    }
    return take(TokenType::kInteger, digits(rest, 0, 1));  // Python writes no leading zeros
  }
  return take(TokenType::kInteger, whole);
}

Result<Token> Lexer::string_literal() {
  const char quote = source_[position_];
  for (size_t end = position_ + 1; end < source_.size(); ++end) {
    if (source_[end] == '\\') {
      ++end;
    } else if (source_[end] == quote) {
      return take(TokenType::kString, end + 1 - position_);
    }
  }
  return Status::invalid_data("line {}: a string has no end", line_);
}

Status Lexer::balance(char bracket) {
  switch (bracket) {
    case '(':
      open_.push_back(')');
      break;
    case '[':
      open_.push_back(']');
      break;
    case '{':
      open_.push_back('}');
      break;
    case ')':
    case ']':
    case '}':
      if (open_.empty() || open_.back() != bracket) {
        return Status::invalid_data("line {}: unexpected '{}'", line_, bracket);
      }
      open_.pop_back();
      break;
    default:
      break;
  }
  return Status::ok();
}

Result<Token> Lexer::operator_token() {
  for (const Operator& candidate : kOperators) {
    if (!at(position_, candidate.text)) continue;
    INGOT_TRY(balance(candidate.text[0]));
    return take(candidate.type, candidate.text.size());
  }
  return Status::invalid_data("line {}: unexpected character '{}'", line_,
                              first_character(source_.substr(position_)));
}

}  // namespace ingot::jinja

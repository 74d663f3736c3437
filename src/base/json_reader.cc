// SPDX-License-Identifier: Apache-2.0
#include "base/json_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/utf8.h"

namespace ingot {
namespace {

// Tells a number too small for a double from one too large, by the place of its first digit.
bool is_below_one(std::string_view number) {
  const size_t exponent_at = std::min(number.find_first_of("eE"), number.size());
  const std::string_view mantissa = number.substr(0, exponent_at);
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  const size_t first = std::min(mantissa.find_first_of("123456789"), mantissa.size());
  const int64_t place = static_cast<int64_t>(point) - static_cast<int64_t>(first);
  std::string_view digits = number.substr(std::min(exponent_at + 1, number.size()));
  if (digits.starts_with('+')) digits.remove_prefix(1);
  int64_t exponent = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (parsed.ec == std::errc::result_out_of_range) return digits.starts_with('-');
  constexpr int64_t kFar = int64_t{1} << 62;
  return place + std::clamp(exponent, -kFar, kFar) < 0;
}

}  // namespace

Status JsonReader::error(std::string_view what) const {
  return Status::invalid_data("{}: JSON at offset {}: {}", source_, offset_, what);
}

void JsonReader::skip_space() {
  while (offset_ < input_.size()) {
    const char c = input_[offset_];
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
    ++offset_;
  }
}

Result<JsonToken> JsonReader::next() {
  skip_space();
  if (expect_ == Expect::kDone) {
    if (offset_ != input_.size()) return error("text after the end of the document");
    return JsonToken::kEnd;
  }
  if (offset_ >= input_.size()) return error("the document is cut off");
  const char c = input_[offset_];
  if (expect_ == Expect::kCommaOrEnd) {
    const char closing = stack_.back() == '{' ? '}' : ']';
    if (c == closing) return close(c);
    if (c != ',') return error("expected ',' or a closing bracket");
    ++offset_;
    expect_ = stack_.back() == '{' ? Expect::kKey : Expect::kValue;
    skip_space();
    if (offset_ >= input_.size()) return error("the document is cut off");
    return next();
  }
  if (expect_ == Expect::kFirstKeyOrEnd && c == '}') return close(c);
  if (expect_ == Expect::kFirstValueOrEnd && c == ']') return close(c);
  if (expect_ == Expect::kFirstKeyOrEnd || expect_ == Expect::kKey) {
    if (c != '"') return error("expected a key in double quotes");
    INGOT_TRY(string());
    skip_space();
    if (offset_ >= input_.size() || input_[offset_] != ':')
      return error("expected ':' after a key");
    ++offset_;
    expect_ = Expect::kValue;
    return JsonToken::kKey;
  }
  return value();
}

Result<JsonToken> JsonReader::value() {
  const char c = input_[offset_];
  if (c == '{' || c == '[') return open(c);
  if (c == '"') {
    INGOT_TRY(string());
    after_value();
    return JsonToken::kString;
  }
  if (c == '-' || (c >= '0' && c <= '9')) return number_token();
  return word();
}

Result<JsonToken> JsonReader::open(char bracket) {
  if (stack_.size() >= max_depth_) return error(fmt::format("nested deeper than {}", max_depth_));
  ++offset_;
  stack_.push_back(bracket);
  expect_ = bracket == '{' ? Expect::kFirstKeyOrEnd : Expect::kFirstValueOrEnd;
  return bracket == '{' ? JsonToken::kBeginObject : JsonToken::kBeginArray;
}

Result<JsonToken> JsonReader::close(char bracket) {
  ++offset_;
  stack_.pop_back();
  after_value();
  return bracket == '}' ? JsonToken::kEndObject : JsonToken::kEndArray;
}

void JsonReader::after_value() {
  expect_ = stack_.empty() ? Expect::kDone : Expect::kCommaOrEnd;
}

Status JsonReader::string() {
  const size_t begin = ++offset_;
  bool has_escape = false;
  text_ = {};  // it may look into decoded_, which is about to change; an error must not leave it so
  while (true) {
    if (offset_ >= input_.size()) return error("a string is cut off");
    const auto c = static_cast<uint8_t>(input_[offset_]);
    if (c == '"') break;
    if (c < 0x20) return error("a control character inside a string");
    if (c == '\\') {
      if (!has_escape) decoded_.assign(input_.substr(begin, offset_ - begin));
      has_escape = true;
      INGOT_TRY(escape());
      continue;
    }
    const size_t size = c < 0x80 ? 1 : utf8::decode(input_.substr(offset_)).size;
    if (c >= 0x80 && !utf8::decode(input_.substr(offset_)).is_valid)
      return error("invalid UTF-8 in a string");
    if (has_escape) decoded_.append(input_.substr(offset_, size));
    offset_ += size;
  }
  text_ = has_escape ? std::string_view(decoded_) : input_.substr(begin, offset_ - begin);
  ++offset_;
  return Status::ok();
}

Status JsonReader::escape() {
  if (offset_ + 1 >= input_.size()) return error("a string is cut off");
  const char c = input_[offset_ + 1];
  offset_ += 2;
  switch (c) {
    case '"':
    case '\\':
    case '/':
      decoded_.push_back(c);
      return Status::ok();
    case 'b':
      decoded_.push_back('\b');
      return Status::ok();
    case 'f':
      decoded_.push_back('\f');
      return Status::ok();
    case 'n':
      decoded_.push_back('\n');
      return Status::ok();
    case 'r':
      decoded_.push_back('\r');
      return Status::ok();
    case 't':
      decoded_.push_back('\t');
      return Status::ok();
    case 'u':
      break;
    default:
      return error("an unknown escape in a string");
  }
  INGOT_TRY(const uint32_t first, hex4());
  if (first < 0xD800 || first > 0xDFFF) {
    utf8::append(decoded_, first);
    return Status::ok();
  }
  if (first > 0xDBFF || !input_.substr(offset_).starts_with("\\u"))
    return error("half of a surrogate pair");
  offset_ += 2;
  INGOT_TRY(const uint32_t second, hex4());
  if (second < 0xDC00 || second > 0xDFFF) return error("half of a surrogate pair");
  utf8::append(decoded_, 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
  return Status::ok();
}

Result<uint32_t> JsonReader::hex4() {
  uint32_t value = 0;
  const std::string_view digits = input_.substr(offset_, 4);
  const auto [end, problem] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.size() != 4 || problem != std::errc() || end != digits.data() + 4) {
    return error("an escape \\u needs four hexadecimal digits");
  }
  offset_ += 4;
  return value;
}

Result<JsonToken> JsonReader::number_token() {
  const size_t begin = offset_;
  const auto digits = [&] {
    const size_t first = offset_;
    while (offset_ < input_.size() && input_[offset_] >= '0' && input_[offset_] <= '9')
      ++offset_;
    return offset_ - first;
  };
  if (input_[offset_] == '-') ++offset_;
  if (input_.substr(offset_).starts_with(
          "Infinity")) {  // Python's json writes it, and configs hold it
    offset_ += 8;
  } else {
    const bool has_zero = offset_ < input_.size() && input_[offset_] == '0';
    const size_t whole = digits();
    if (whole == 0 || (has_zero && whole > 1)) return error("a malformed number");
    if (offset_ < input_.size() && input_[offset_] == '.') {
      ++offset_;
      if (digits() == 0) return error("a malformed number");
    }
    if (offset_ < input_.size() && (input_[offset_] == 'e' || input_[offset_] == 'E')) {
      ++offset_;
      if (offset_ < input_.size() && (input_[offset_] == '+' || input_[offset_] == '-')) ++offset_;
      if (digits() == 0) return error("a malformed number");
    }
  }
  text_ = input_.substr(begin, offset_ - begin);
  after_value();
  return JsonToken::kNumber;
}

Result<JsonToken> JsonReader::word() {
  struct Word {
    std::string_view text;
    JsonToken token;
  };
  static constexpr Word kWords[] = {{"true", JsonToken::kTrue},
                                    {"false", JsonToken::kFalse},
                                    {"null", JsonToken::kNull},
                                    {"NaN", JsonToken::kNumber},
                                    {"Infinity", JsonToken::kNumber}};
  for (const Word& candidate : kWords) {
    if (!input_.substr(offset_).starts_with(candidate.text)) continue;
    text_ = input_.substr(offset_, candidate.text.size());
    offset_ += candidate.text.size();
    after_value();
    return candidate.token;
  }
  return error("expected a value");
}

Result<int64_t> JsonReader::integer() const {
  int64_t value = 0;
  const auto [end, problem] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
  if (problem == std::errc() && end == text_.data() + text_.size()) return value;
  return error(fmt::format("'{}' is not a whole number in range", text_.substr(0, 40)));
}

double JsonReader::number() const {
  if (text_ == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text_ == "Infinity") return std::numeric_limits<double>::infinity();
  if (text_ == "-Infinity") return -std::numeric_limits<double>::infinity();
  double value = 0;
  const auto [end, problem] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
  if (problem == std::errc::result_out_of_range) {  // from_chars leaves the value alone
    value = is_below_one(text_) ? 0.0 : std::numeric_limits<double>::infinity();
    return text_[0] == '-' ? -value : value;
  }
  return value;
}

Status JsonReader::expect(JsonToken wanted, std::string_view field) {
  INGOT_TRY(const JsonToken token, next());
  if (token != wanted) return error(fmt::format("'{}' has the wrong type", field));
  return Status::ok();
}

Status JsonReader::skip_value() {
  const size_t depth = stack_.size();
  do {
    INGOT_TRY(next());
  } while (stack_.size() > depth);
  return Status::ok();
}

Result<std::string> JsonReader::string_value(std::string_view field) {
  INGOT_TRY(expect(JsonToken::kString, field));
  return std::string(text_);
}

Result<int64_t> JsonReader::integer_value(std::string_view field) {
  INGOT_TRY(expect(JsonToken::kNumber, field));
  return integer();
}

Result<bool> JsonReader::bool_value(std::string_view field) {
  INGOT_TRY(const JsonToken token, next());
  if (token != JsonToken::kTrue && token != JsonToken::kFalse) {
    return error(fmt::format("'{}' must be true or false", field));
  }
  return token == JsonToken::kTrue;
}

Result<bool> JsonReader::next_key() {
  INGOT_TRY(const JsonToken token, next());
  if (token == JsonToken::kKey) return true;
  if (token == JsonToken::kEndObject) return false;
  return error("expected a key");
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/oniguruma_cursor.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>

#include "base/utf8.h"

namespace ingot::tok::oniguruma {

Status PatternCursor::error(std::string_view what) const {
  return Status::unsupported("regular expression, offset {}: {}", at_, what);
}

std::string_view PatternCursor::take(size_t size_bytes) {
  const std::string_view taken = pattern_.substr(at_, size_bytes);
  at_ += taken.size();
  return taken;
}

std::optional<std::string_view> PatternCursor::take_through(std::string_view end) {
  const size_t found = rest().find(end);
  if (found == std::string_view::npos) return std::nullopt;
  return take(found + end.size());
}

char32_t PatternCursor::take_char() {
  const utf8::Decoded decoded = utf8::decode(rest());
  at_ += decoded.size;
  return decoded.code_point;
}

Result<std::optional<Items>> PatternCursor::escaped_set() {
  const char c = pattern_[at_ + 1];
  std::string_view items;
  switch (c) {
    case 's':
    case 'S':
      items = kSpaceItems;
      break;
    case 'd':
    case 'D':
      items = R"(\p{Nd})";
      break;
    case 'w':
    case 'W':
      items = kWordItems;
      break;
    case 'h':
    case 'H':
      items = kHexItems;
      break;
    case 'p':
    case 'P':
      return property(c == 'P');
    default:
      return std::optional<Items>();
  }
  at_ += 2;
  return std::optional(Items{std::string(items), c >= 'A' && c <= 'Z'});
}

Result<std::optional<Items>> PatternCursor::property(bool is_negated) {
  const size_t open = at_ + 2;
  const size_t close = pattern_.find('}', open);
  if (open >= pattern_.size() || pattern_[open] != '{' || close == std::string_view::npos) {
    return error("\\p needs a name in braces");
  }
  std::string_view name = pattern_.substr(open + 1, close - open - 1);
  if (name.starts_with('^')) {
    is_negated = !is_negated;
    name.remove_prefix(1);
  }
  std::optional<Items> items = named_items(name, /*is_posix=*/false);
  if (!items) return error("an unknown property");
  items->is_negated = items->is_negated != is_negated;
  at_ = close + 1;
  return items;
}

Result<char32_t> PatternCursor::escaped_char() {
  const char c = pattern_[at_ + 1];
  at_ += 2;
  switch (c) {
    case 't':
      return U'\t';
    case 'n':
      return U'\n';
    case 'r':
      return U'\r';
    case 'f':
      return U'\f';
    case 'v':
      return U'\v';
    case 'a':
      return U'\a';
    case 'e':
      return char32_t{0x1B};
    case '0':
      return char32_t{0};
    case 'u':
      return hex_char(4, 4);
    case 'x':
      if (at_ < pattern_.size() && pattern_[at_] == '{') {
        ++at_;
        INGOT_TRY(const char32_t code_point, hex_char(1, 8));
        if (at_ >= pattern_.size() || pattern_[at_] != '}') return error("an open \\x{");
        ++at_;
        return code_point;
      }
      return hex_char(1, 2);
    default:
      break;
  }
  if (is_ascii_alnum(c)) return error("an unknown escape");
  const utf8::Decoded decoded = utf8::decode(pattern_.substr(at_ - 1));
  at_ += decoded.size - 1U;
  return decoded.code_point;
}

Result<char32_t> PatternCursor::hex_char(size_t least, size_t most) {
  const std::string_view digits = pattern_.substr(at_, most);
  uint32_t value = 0;
  const auto [end, problem] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  const auto count = static_cast<size_t>(end - digits.data());
  if (problem != std::errc() || count < least || value > 0x10FFFF) {
    return error("a malformed hexadecimal escape");
  }
  at_ += count;
  return static_cast<char32_t>(value);
}

}  // namespace ingot::tok::oniguruma

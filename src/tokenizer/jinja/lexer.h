// SPDX-License-Identifier: Apache-2.0
// Template text into tokens, one at a time, with Jinja's whitespace rules: trim_blocks and
// lstrip_blocks on, the last newline of the file dropped, `-` and `+` beside a delimiter. Linear in
// the source.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace ingot::jinja {

enum class TokenType : uint8_t {
  kEnd,
  kData,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kPow,
  kTilde,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kAssign,
  kDot,
  kComma,
  kColon,
  kSemicolon,
  kPipe,
  kLeftParen,
  kRightParen,
  kLeftBracket,
  kRightBracket,
  kLeftBrace,
  kRightBrace,
};

struct Token {
  TokenType type = TokenType::kEnd;
  uint32_t line = 1;
  std::string_view text;  // of the source; strings with their quotes
};

// The source with its line ends made "\n" and one newline removed from its end.
std::string normalize_source(std::string_view source);
// The value of a string token: quotes removed, escapes replaced.
Result<std::string> unescape(std::string_view quoted);

class Lexer {
 public:
  // `source` is normalized and outlives the lexer.
  explicit Lexer(std::string_view source) : source_(source) {}
  Result<Token> next();

 private:
  enum class State { kText, kRaw, kBlock, kVariable };

  Result<Token> next_text();
  Result<Token> next_raw();
  Result<Token> next_in_tag();
  Result<Token> number();
  Result<Token> string_literal();
  Result<Token> operator_token();
  Status skip_comment(size_t begin);
  bool enter_raw(size_t at);
  // `text` before a tag, without what its delimiter or lstrip_blocks strips from its end.
  std::string_view stripped_before(std::string_view text, char sign, bool is_variable) const;
  Token take(TokenType type, size_t size);
  void advance(size_t to);
  size_t skip_spaces(size_t at) const;
  bool at(size_t position, std::string_view expected) const {
    return source_.substr(std::min(position, source_.size())).starts_with(expected);
  }
  Status balance(char bracket);

  std::string_view source_;
  size_t position_ = 0;
  uint32_t line_ = 1;
  State state_ = State::kText;
  bool is_line_start_ = true;  // what was read last ended a line
  std::vector<char> open_;     // brackets; the end of a tag is only looked for outside them
};

}  // namespace ingot::jinja

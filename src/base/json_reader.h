// SPDX-License-Identifier: Apache-2.0
// A pull parser for JSON from outside: no recursion, no document tree, depth bounded, UTF-8
// checked. Huge files (tokenizer.json, safetensors headers, shard indexes) are streamed through it;
// small ones become a tree by base/json.h, which is built on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/status.h"

namespace ingot {

enum class JsonToken {
  kBeginObject,
  kEndObject,
  kBeginArray,
  kEndArray,
  kKey,     // text() is the decoded key; its value follows
  kString,  // text() is the decoded string
  kNumber,  // text() is the number as written; integer() and number() convert it
  kTrue,
  kFalse,
  kNull,
  kEnd,  // the whole document has been read
};

// The text must outlive the reader. text() is valid until the next call, and empty after an error
// in a string. Single thread.
class JsonReader {
 public:
  JsonReader(std::string_view text, std::string source, size_t max_depth = limits::kJsonDepth)
      : input_(text), source_(std::move(source)), max_depth_(max_depth) {}

  Result<JsonToken> next();
  std::string_view text() const { return text_; }
  Result<int64_t> integer() const;  // the current number, when it is a whole number in range
  double number() const;            // the current number; "Infinity" and "NaN" included

  // next(), but any other token than `wanted` is an error that names `field`.
  Status expect(JsonToken wanted, std::string_view field);
  // The value after a key (or in an array), skipped whole.
  Status skip_value();
  Result<std::string> string_value(std::string_view field);
  Result<int64_t> integer_value(std::string_view field);
  Result<bool> bool_value(std::string_view field);
  // Walks an object: `while (INGOT_TRY(more, reader.next_key()), more)`: true with text() = the
  // key, false when the object has ended.
  Result<bool> next_key();

  size_t offset() const { return offset_; }
  size_t depth() const { return stack_.size(); }
  Status error(std::string_view what) const;

 private:
  enum class Expect : uint8_t {
    kValue,
    kFirstKeyOrEnd,
    kKey,
    kFirstValueOrEnd,
    kCommaOrEnd,
    kDone
  };

  void skip_space();
  Result<JsonToken> value();
  Result<JsonToken> open(char bracket);
  Result<JsonToken> close(char bracket);
  Status string();
  Status escape();
  Result<uint32_t> hex4();
  Result<JsonToken> number_token();
  Result<JsonToken> word();
  void after_value();

  std::string_view input_;
  std::string source_;
  size_t max_depth_;
  size_t offset_ = 0;
  Expect expect_ = Expect::kValue;
  std::vector<char> stack_;  // '{' or '[' for each open bracket
  std::string_view text_;
  std::string decoded_;  // backs text_ where the string has escapes
};

}  // namespace ingot

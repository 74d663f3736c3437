// SPDX-License-Identifier: Apache-2.0
// Steps that cut a normalized text into pieces ("words"); the model sees each piece alone. Some
// also rewrite the text, as byte-level ones do.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/split_pattern.h"

namespace ingot::tok {

struct Piece {
  Piece(size_t from, size_t to)
      : begin(static_cast<uint32_t>(from)), end(static_cast<uint32_t>(to)) {}

  uint32_t begin;
  uint32_t end;
};

// A text and the pieces of it that are still wanted, in order, none of them empty.
struct PieceList {
  std::string text;
  std::vector<Piece> pieces;
  size_t start_bytes;  // at the front: what stems from the first character of the input

  PieceList(std::string whole, size_t start);
  std::string_view view(const Piece& piece) const {
    return std::string_view(text).substr(piece.begin, piece.end - piece.begin);
  }
};

// Immutable; thread-safe.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual Status apply(PieceList& list) const = 0;
};

using PreTokenizerPtr = std::unique_ptr<const PreTokenizer>;

enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
enum class PrependScheme { kAlways, kFirst, kNever };

PreTokenizerPtr make_split(SplitPattern pattern, SplitBehavior behavior, bool invert);
PreTokenizerPtr make_byte_level(bool add_prefix_space, bool use_regex);
PreTokenizerPtr make_metaspace(std::string replacement, PrependScheme scheme, bool split);
PreTokenizerPtr make_fixed_length(size_t length);
Result<PreTokenizerPtr> make_unicode_scripts(std::string_view source);

// Splits where a character satisfies a condition.
using CharTest = bool (*)(char32_t);
PreTokenizerPtr make_char_split(CharTest test, SplitBehavior behavior);
PreTokenizerPtr make_whitespace();  // \w+|[^\w\s]+
bool is_numeric(char32_t code_point);

}  // namespace ingot::tok

// SPDX-License-Identifier: Apache-2.0
// SentencePiece's compiled normalization table: a double-array trie from byte strings to their
// replacements. It comes from a file, so every step of a walk is bounds-checked.
//   u32 size of the trie in bytes | u32 units[] | replacements, each ended by a zero byte
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace ingot::tok {

// Immutable; thread-safe.
class Charsmap {
 public:
  static Result<Charsmap> parse(std::string_view blob, std::string_view source);

  struct Match {
    size_t size;  // bytes of the text that are replaced
    std::string_view replacement;
  };
  std::optional<Match> longest_prefix(std::string_view text) const;
  // The replacement of the shortest key that begins `text`: how the `tokenizers` package asks.
  std::optional<std::string_view> shortest_prefix(std::string_view text) const;

 private:
  std::optional<Match> walk(std::string_view text, bool stop_at_first) const;
  std::string_view replacement(uint32_t offset) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

std::optional<std::string> decode_base64(std::string_view text);

}  // namespace ingot::tok

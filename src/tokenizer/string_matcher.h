// SPDX-License-Identifier: Apache-2.0
// Finds many strings in a text in one pass, whatever the strings and the text: an Aho-Corasick
// automaton of the reversed strings, run from the end of the text to its start, knows at each place
// the longest string that begins there.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot::tok {

// Immutable; thread-safe.
class StringMatcher {
 public:
  StringMatcher() = default;
  // Strings with their values; of equal strings the last one counts, empty ones are dropped.
  explicit StringMatcher(const std::vector<std::pair<std::string_view, uint32_t>>& strings);

  bool is_empty() const { return nodes_.empty(); }

  struct Match {
    size_t begin;
    size_t end;
    uint32_t value;
  };
  // Non-overlapping matches: leftmost first, and of those that begin there the longest.
  std::vector<Match> find_all(std::string_view text) const;

 private:
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  struct Node {
    uint32_t first_child = kNone;  // children are a list: strings share few beginnings
    uint32_t next_sibling = kNone;
    uint32_t fallback = 0;   // the longest proper suffix that is also a prefix
    uint32_t value = kNone;  // of the longest string that ends here
    uint32_t size = 0;       // and its length
    uint8_t label = 0;
  };
  uint32_t child(uint32_t node, uint8_t byte) const;
  uint32_t step(uint32_t node, uint8_t byte) const;
  void link_fallbacks();

  std::vector<Node> nodes_;
  std::array<uint32_t, 256> root_{};  // children of the root, which most bytes of a text ask for
};

}  // namespace ingot::tok

// SPDX-License-Identifier: Apache-2.0
// A set of byte strings that answers "which of them begin here?" in one walk. Children of a node
// lie side by side, sorted, so the trie is three flat arrays.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot::tok {

// Immutable; thread-safe.
class ByteTrie {
 public:
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  static constexpr uint32_t kRoot = 0;

  ByteTrie() = default;
  // Keys with their values; of equal keys the last one counts, empty keys are dropped.
  explicit ByteTrie(std::vector<std::pair<std::string_view, uint32_t>> keys);

  bool is_empty() const { return nodes_.empty(); }
  // The node reached from `node` by `byte`, or kNone.
  uint32_t child(uint32_t node, uint8_t byte) const;
  // The value of the key that ends at `node`, or kNone.
  uint32_t value(uint32_t node) const { return nodes_[node].value; }

  struct Match {
    size_t size = 0;
    uint32_t value = kNone;
  };
  // The longest key that `text` begins with at `offset`; size 0 when there is none.
  Match longest_prefix(std::string_view text, size_t offset) const;

 private:
  struct Node {
    uint32_t first_child = 0;
    uint16_t children = 0;
    uint32_t value = kNone;
  };
  std::vector<Node> nodes_;
  std::vector<uint8_t> labels_;  // the byte that leads to the node
};

}  // namespace ingot::tok

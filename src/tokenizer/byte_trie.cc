// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/byte_trie.h"

#include <algorithm>

namespace ingot::tok {

ByteTrie::ByteTrie(std::vector<std::pair<std::string_view, uint32_t>> keys) {
  std::erase_if(keys, [](const auto& key) { return key.first.empty(); });
  if (keys.empty()) return;
  std::stable_sort(keys.begin(), keys.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });

  // Breadth first: the keys below a node are one range of the sorted list, so its children can be
  // laid down next to each other.
  struct Work {
    size_t first;
    size_t last;
    size_t depth;
    uint32_t node;
  };
  std::vector<Work> level{{0, keys.size(), 0, kRoot}};
  std::vector<Work> next;
  nodes_.emplace_back();
  labels_.push_back(0);
  while (!level.empty()) {
    next.clear();
    for (Work work : level) {
      while (work.first < work.last && keys[work.first].first.size() == work.depth) {
        nodes_[work.node].value = keys[work.first].second;
        ++work.first;
      }
      nodes_[work.node].first_child = static_cast<uint32_t>(nodes_.size());
      while (work.first < work.last) {
        const auto byte = static_cast<uint8_t>(keys[work.first].first[work.depth]);
        const auto end = std::partition_point(
            keys.begin() + static_cast<std::ptrdiff_t>(work.first),
            keys.begin() + static_cast<std::ptrdiff_t>(work.last),
            [&](const auto& key) { return static_cast<uint8_t>(key.first[work.depth]) <= byte; });
        const auto last = static_cast<size_t>(end - keys.begin());
        next.push_back({work.first, last, work.depth + 1, static_cast<uint32_t>(nodes_.size())});
        nodes_.emplace_back();
        labels_.push_back(byte);
        ++nodes_[work.node].children;
        work.first = last;
      }
    }
    std::swap(level, next);
  }
}

uint32_t ByteTrie::child(uint32_t node, uint8_t byte) const {
  const Node& from = nodes_[node];
  const uint8_t* const begin = labels_.data() + from.first_child;
  const uint8_t* const end = begin + from.children;
  if (from.children == 256) return from.first_child + byte;
  const uint8_t* const found =
      from.children <= 8 ? std::find(begin, end, byte) : std::lower_bound(begin, end, byte);
  if (found == end || *found != byte) return kNone;
  return from.first_child + static_cast<uint32_t>(found - begin);
}

ByteTrie::Match ByteTrie::longest_prefix(std::string_view text, size_t offset) const {
  Match best;
  if (nodes_.empty()) return best;
  uint32_t node = kRoot;
  for (size_t at = offset; at < text.size(); ++at) {
    node = child(node, static_cast<uint8_t>(text[at]));
    if (node == kNone) break;
    if (nodes_[node].value != kNone) best = {at + 1 - offset, nodes_[node].value};
  }
  return best;
}

}  // namespace ingot::tok

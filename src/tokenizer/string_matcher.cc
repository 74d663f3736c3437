// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/string_matcher.h"

#include <algorithm>

namespace ingot::tok {

StringMatcher::StringMatcher(const std::vector<std::pair<std::string_view, uint32_t>>& strings) {
  root_.fill(kNone);
  for (const auto& [text, value] : strings) {
    if (text.empty()) continue;
    if (nodes_.empty()) nodes_.emplace_back();
    uint32_t node = 0;
    for (size_t i = text.size(); i-- > 0;) {
      const auto byte = static_cast<uint8_t>(text[i]);
      uint32_t next = child(node, byte);
      if (next == kNone) {
        next = static_cast<uint32_t>(nodes_.size());
        Node fresh;
        fresh.label = byte;
        fresh.next_sibling = nodes_[node].first_child;
        nodes_.push_back(fresh);
        nodes_[node].first_child = next;
        if (node == 0) root_[byte] = next;
      }
      node = next;
    }
    nodes_[node].value = value;
    nodes_[node].size = static_cast<uint32_t>(text.size());
  }
  if (!nodes_.empty()) link_fallbacks();
}

uint32_t StringMatcher::child(uint32_t node, uint8_t byte) const {
  if (node == 0) return root_[byte];
  uint32_t at = nodes_[node].first_child;
  while (at != kNone && nodes_[at].label != byte)
    at = nodes_[at].next_sibling;
  return at;
}

uint32_t StringMatcher::step(uint32_t node, uint8_t byte) const {
  while (true) {
    const uint32_t next = child(node, byte);
    if (next != kNone) return next;
    if (node == 0) return 0;
    node = nodes_[node].fallback;
  }
}

void StringMatcher::link_fallbacks() {
  std::vector<uint32_t> queue;  // breadth first, so that a fallback is final before it is used
  for (uint32_t at = nodes_[0].first_child; at != kNone; at = nodes_[at].next_sibling) {
    queue.push_back(at);
  }
  for (size_t i = 0; i < queue.size(); ++i) {
    const uint32_t node = queue[i];
    for (uint32_t at = nodes_[node].first_child; at != kNone; at = nodes_[at].next_sibling) {
      nodes_[at].fallback = step(nodes_[node].fallback, nodes_[at].label);
      queue.push_back(at);
    }
    const Node& fallback = nodes_[nodes_[node].fallback];
    if (nodes_[node].value == kNone) {
      nodes_[node].value = fallback.value;
      nodes_[node].size = fallback.size;
    }
  }
}

std::vector<StringMatcher::Match> StringMatcher::find_all(std::string_view text) const {
  std::vector<Match> found;  // the longest at each place, from right to left
  if (nodes_.empty()) return found;
  uint32_t node = 0;
  for (size_t i = text.size(); i-- > 0;) {
    node = step(node, static_cast<uint8_t>(text[i]));
    if (nodes_[node].value != kNone)
      found.push_back({i, i + nodes_[node].size, nodes_[node].value});
  }
  std::reverse(found.begin(), found.end());
  size_t covered = 0;
  std::erase_if(found, [&](const Match& match) {
    if (match.begin < covered) return true;
    covered = match.end;
    return false;
  });
  return found;
}

}  // namespace ingot::tok

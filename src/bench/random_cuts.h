// SPDX-License-Identifier: Apache-2.0
// For tests of parsers that are fed piecemeal: the same text, cut at random places.
#pragma once

#include <algorithm>
#include <functional>
#include <random>
#include <string_view>

namespace ingot {

// Calls `push` with pieces of 1 to `longest` bytes that make up `text`.
inline void feed_cut(std::string_view text, std::mt19937& random, size_t longest,
                     const std::function<void(std::string_view)>& push) {
  while (!text.empty()) {
    const size_t bytes = std::min(text.size(), 1 + random() % longest);
    push(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
}

}  // namespace ingot

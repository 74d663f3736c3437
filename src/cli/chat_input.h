// SPDX-License-Identifier: Apache-2.0
// Several lines as one message: a line that ends in a backslash goes on, and everything between two
// """ is taken as it is. Works on lines, wherever they come from.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ingot {

// Single thread.
class MessageLines {
 public:
  // The message, once `line` completes it.
  std::optional<std::string> add(std::string_view line);
  // The input is over: what there is, if anything.
  std::optional<std::string> finish();
  bool is_open() const { return is_quoted_ || is_continued_; }
  void reset() { *this = {}; }

 private:
  std::optional<std::string> take();
  std::string text_;
  bool is_quoted_ = false;     // inside """
  bool is_continued_ = false;  // after a backslash
};

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// The text being typed and the cursor in it, with the editing commands of Emacs. Knows nothing of
// keys or screens. The cursor always stands between two grapheme clusters.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

// Single thread.
class LineBuffer {
 public:
  const std::string& text() const { return text_; }
  size_t cursor() const { return cursor_; }
  bool empty() const { return text_.empty(); }

  void set(std::string text);  // the cursor goes to the end
  void clear() { set({}); }
  // Control characters but newline and tab are left out, invalid UTF-8 becomes U+FFFD.
  void insert(std::string_view text);

  void move_left();
  void move_right();
  void move_word_left();
  void move_word_right();
  void move_to_line_start();
  void move_to_line_end();
  // False at the first (last) line: the caller then goes through the history.
  bool move_up();
  bool move_down();

  void erase_left();
  void erase_right();
  // These keep what they removed for yank().
  void kill_word_left();
  void kill_word_right();
  void kill_to_line_start();
  void kill_to_line_end();
  void yank();
  void transpose();  // swaps the clusters around the cursor

 private:
  size_t line_start(size_t position) const;
  size_t line_end(size_t position) const;
  size_t word_left() const;
  size_t word_right() const;
  void kill(size_t begin, size_t end);
  void move_to_column(size_t line_begin, int column);

  std::string text_;
  size_t cursor_ = 0;
  std::string killed_;
};

}  // namespace ingot

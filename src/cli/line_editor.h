// SPDX-License-Identifier: Apache-2.0
// Reads one message from the person at the terminal: editing keys, history, paste, wrapped and
// multi-line text. Where standard input is no terminal it reads plain lines instead.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cli/key_parser.h"
#include "cli/line_buffer.h"
#include "cli/line_history.h"

namespace ingot {

enum class LineEnd : uint8_t { kLine, kInterrupt, kEndOfFile };

struct ReadLine {
  LineEnd end = LineEnd::kLine;
  std::string text;
};

// What to write to show `text` after `prompt` on a screen `columns` wide, with the cursor where the
// next character goes; rows count from the prompt's.
struct ScreenText {
  std::string bytes;
  int rows = 0;  // below the first
  int cursor_row = 0;
  int cursor_column = 0;
};
ScreenText layout_line(std::string_view prompt, std::string_view text, size_t cursor, int columns);

// Single thread.
class LineEditor {
 public:
  explicit LineEditor(LineHistory& history);

  // kInterrupt: Ctrl-C (the text typed so far is given up). kEndOfFile: Ctrl-D on an empty line, or
  // the end of the input.
  Result<ReadLine> read(std::string_view prompt);
  bool is_interactive() const { return is_interactive_; }

 private:
  Result<ReadLine> read_plain();
  Result<ReadLine> read_keys(std::string_view prompt);
  bool handle(const Key& key, ReadLine& line);  // true: the line is done
  bool edit(const Key& key);
  void step_history(int direction);
  void redraw(std::string_view prompt);
  void leave_line(std::string_view prompt);

  LineHistory& history_;
  bool is_interactive_;
  KeyParser keys_;
  std::vector<Key> waiting_;  // typed ahead, after the line's end
  LineBuffer buffer_;
  size_t history_index_ = 0;  // entries().size(): the line being typed
  std::string draft_;         // what was typed before going through the history
  int cursor_row_ = 0;        // of the last drawing
  std::string input_;         // read, but not yet a whole line (no terminal)
};

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "cli/line_editor.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "cli/environment.h"
#include "cli/output.h"
#include "cli/text_width.h"

namespace ingot {
namespace {

int stdout_columns() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return 80;
  return size.ws_col;
}

// The terminal hands over every key while this lives, and marks pastes.
class RawMode {
 public:
  RawMode() {
    is_set_ = ::tcgetattr(STDIN_FILENO, &saved_) == 0;
    if (!is_set_) return;
    termios raw = saved_;
    raw.c_iflag &= ~static_cast<tcflag_t>(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
    raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN | ISIG);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    (void)print("\x1b[?2004h");  // a screen that is gone shows at the next read
  }
  ~RawMode() {
    if (!is_set_) return;
    (void)print("\x1b[?2004l");
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &saved_);
  }
  RawMode(const RawMode&) = delete;
  RawMode& operator=(const RawMode&) = delete;

 private:
  termios saved_{};
  bool is_set_ = false;
};

// Length of an ANSI colour sequence at the front, 0 if there is none.
size_t color_size(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const size_t end = text.find('m');
  return end == std::string_view::npos ? 0 : end + 1;
}

int prompt_columns(std::string_view prompt) {
  int columns = 0;
  while (!prompt.empty()) {
    const size_t color = color_size(prompt);
    const size_t size = color > 0 ? color : cluster_size(prompt);
    if (color == 0) columns += cluster_columns(prompt.substr(0, size));
    prompt.remove_prefix(size);
  }
  return columns;
}

}  // namespace

ScreenText layout_line(std::string_view prompt, std::string_view text, size_t cursor, int columns) {
  ScreenText screen;
  screen.bytes = prompt;
  const int indent = std::min(prompt_columns(prompt), columns - 1);
  int row = 0;
  int column = indent;
  const auto break_line = [&](int to_column) {
    screen.bytes += "\r\n" + std::string(static_cast<size_t>(to_column), ' ');
    ++row;
    column = to_column;
  };
  for (size_t at = 0; at <= text.size();) {
    if (at == cursor) {
      screen.cursor_row = row;
      screen.cursor_column = column;
    }
    if (at == text.size()) break;
    const size_t size = cluster_size(text.substr(at));
    const std::string_view cluster = text.substr(at, size);
    at += size;
    if (cluster == "\n") {
      break_line(indent);
      continue;
    }
    const int width = cluster_columns(cluster);
    // Breaking before the edge, not at it: terminals differ in what they do in the last column.
    if (column + width >= columns) {
      const bool moves_cursor = at - size == cursor;
      break_line(0);
      if (moves_cursor) {
        screen.cursor_row = row;
        screen.cursor_column = column;
      }
    }
    screen.bytes += cluster == "\t" ? std::string(kTabColumns, ' ') : std::string(cluster);
    column += width;
  }
  screen.rows = row;
  return screen;
}

LineEditor::LineEditor(LineHistory& history)
    : history_(history),
      is_interactive_(is_terminal(STDIN_FILENO) && is_terminal(STDOUT_FILENO) &&
                      environment::has_cursor_movement()) {}

Result<ReadLine> LineEditor::read(std::string_view prompt) {
  return is_interactive_ ? read_keys(prompt) : read_plain();
}

Result<ReadLine> LineEditor::read_plain() {
  std::array<char, 4096> buffer{};
  while (true) {
    if (const size_t end = input_.find('\n'); end != std::string::npos) {
      ReadLine line{LineEnd::kLine, input_.substr(0, end)};
      input_.erase(0, end + 1);
      return line;
    }
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) return ReadLine{LineEnd::kInterrupt, {}};
    if (count < 0) return Status::io("cannot read standard input: {}", std::strerror(errno));
    if (count == 0) {
      if (input_.empty()) return ReadLine{LineEnd::kEndOfFile, {}};
      return ReadLine{LineEnd::kLine, std::exchange(input_, {})};
    }
    input_.append(buffer.data(), static_cast<size_t>(count));
  }
}

Result<ReadLine> LineEditor::read_keys(std::string_view prompt) {
  const RawMode raw;
  buffer_.clear();
  history_index_ = history_.entries().size();
  draft_.clear();
  cursor_row_ = 0;
  ReadLine line;
  std::array<char, 4096> bytes{};
  redraw(prompt);
  while (true) {
    const std::vector<Key> keys = std::exchange(waiting_, {});
    for (size_t i = 0; i < keys.size(); ++i) {
      if (!handle(keys[i], line)) continue;
      waiting_.assign(keys.begin() + static_cast<std::ptrdiff_t>(i) + 1, keys.end());
      leave_line(prompt);
      return line;
    }
    if (!keys.empty()) redraw(prompt);
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Status::io("cannot read the terminal: {}", std::strerror(errno));
    if (count == 0) return ReadLine{LineEnd::kEndOfFile, {}};
    waiting_ = keys_.feed({bytes.data(), static_cast<size_t>(count)});
  }
}

bool LineEditor::handle(const Key& key, ReadLine& line) {
  switch (key.kind) {
    case KeyKind::kEnter:
      line = {LineEnd::kLine, buffer_.text()};
      return true;
    case KeyKind::kInterrupt:
      line = {LineEnd::kInterrupt, buffer_.text()};
      return true;
    case KeyKind::kEndOfFile:
      if (buffer_.empty()) {
        line = {LineEnd::kEndOfFile, {}};
        return true;
      }
      buffer_.erase_right();
      return false;
    case KeyKind::kUp:
      if (!buffer_.move_up()) step_history(-1);
      return false;
    case KeyKind::kDown:
      if (!buffer_.move_down()) step_history(1);
      return false;
    case KeyKind::kClearScreen:
      (void)print("\x1b[H\x1b[2J");
      cursor_row_ = 0;
      return false;
    default:
      edit(key);
      return false;
  }
}

bool LineEditor::edit(const Key& key) {
  using Edit = void (LineBuffer::*)();
  struct Binding {
    KeyKind kind;
    Edit edit;
  };
  static constexpr std::array<Binding, 14> kBindings = {{
      {KeyKind::kBackspace, &LineBuffer::erase_left},
      {KeyKind::kDelete, &LineBuffer::erase_right},
      {KeyKind::kLeft, &LineBuffer::move_left},
      {KeyKind::kRight, &LineBuffer::move_right},
      {KeyKind::kLineStart, &LineBuffer::move_to_line_start},
      {KeyKind::kLineEnd, &LineBuffer::move_to_line_end},
      {KeyKind::kWordLeft, &LineBuffer::move_word_left},
      {KeyKind::kWordRight, &LineBuffer::move_word_right},
      {KeyKind::kKillToEnd, &LineBuffer::kill_to_line_end},
      {KeyKind::kKillToStart, &LineBuffer::kill_to_line_start},
      {KeyKind::kKillWordLeft, &LineBuffer::kill_word_left},
      {KeyKind::kKillWordRight, &LineBuffer::kill_word_right},
      {KeyKind::kYank, &LineBuffer::yank},
      {KeyKind::kTranspose, &LineBuffer::transpose},
  }};
  if (key.kind == KeyKind::kText || key.kind == KeyKind::kPaste) {
    buffer_.insert(key.text);
    return true;
  }
  if (key.kind == KeyKind::kNewline) {
    buffer_.insert("\n");
    return true;
  }
  const auto* found = std::ranges::find(kBindings, key.kind, &Binding::kind);
  if (found == kBindings.end()) return false;
  (buffer_.*found->edit)();
  return true;
}

void LineEditor::step_history(int direction) {
  const std::vector<std::string>& entries = history_.entries();
  if (direction < 0 && history_index_ == 0) return;
  if (direction > 0 && history_index_ == entries.size()) return;
  if (history_index_ == entries.size()) draft_ = buffer_.text();
  history_index_ = direction < 0 ? history_index_ - 1 : history_index_ + 1;
  buffer_.set(history_index_ == entries.size() ? draft_ : entries[history_index_]);
}

void LineEditor::redraw(std::string_view prompt) {
  const ScreenText screen = layout_line(prompt, buffer_.text(), buffer_.cursor(), stdout_columns());
  std::string out = cursor_row_ > 0 ? fmt::format("\r\x1b[{}A\x1b[J", cursor_row_) : "\r\x1b[J";
  out += screen.bytes;
  if (screen.rows > screen.cursor_row)
    out += fmt::format("\x1b[{}A", screen.rows - screen.cursor_row);
  out += "\r";
  if (screen.cursor_column > 0) out += fmt::format("\x1b[{}C", screen.cursor_column);
  (void)print(out);
  cursor_row_ = screen.cursor_row;
}

// Draws the finished line once more with the cursor behind it, then goes below it.
void LineEditor::leave_line(std::string_view prompt) {
  buffer_.set(buffer_.text());
  redraw(prompt);
  (void)print("\r\n");
}

}  // namespace ingot

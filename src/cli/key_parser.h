// SPDX-License-Identifier: Apache-2.0
// Bytes from a terminal become keys: control characters, escape sequences of arrows and friends,
// UTF-8, and bracketed paste (whose content is never a command). Works on any split of the bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

enum class KeyKind : uint8_t {
  kText,
  kPaste,
  kEnter,
  kNewline,  // Ctrl-J, Alt-Enter: a line break inside the message
  kBackspace,
  kDelete,
  kLeft,
  kRight,
  kUp,
  kDown,
  kLineStart,
  kLineEnd,
  kWordLeft,
  kWordRight,
  kKillToEnd,
  kKillToStart,
  kKillWordLeft,
  kKillWordRight,
  kYank,
  kTranspose,
  kClearScreen,
  kInterrupt,  // Ctrl-C
  kEndOfFile,  // Ctrl-D
  kUnknown,
};

struct Key {
  KeyKind kind = KeyKind::kUnknown;
  std::string text;  // of kText and kPaste
};

// Single thread.
class KeyParser {
 public:
  // The keys that are complete now; the rest waits for more bytes.
  std::vector<Key> feed(std::string_view bytes);

 private:
  bool take_paste(std::vector<Key>& keys);
  // Bytes used by the key at the front; 0 when it is not complete.
  size_t take_key(Key& key) const;
  size_t take_escape(Key& key) const;

  std::string pending_;
  bool is_pasting_ = false;
  size_t searched_ = 0;  // of pending_, while pasting
};

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "cli/key_parser.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace ingot {
namespace {

constexpr std::string_view kPasteBegin = "\x1b[200~";
constexpr std::string_view kPasteEnd = "\x1b[201~";
constexpr size_t kLongestSequence = 32;  // beyond it, it is noise

KeyKind control_key(unsigned char byte) {
  switch (byte) {
    case 1:  // Ctrl-A, and so on through the alphabet
      return KeyKind::kLineStart;
    case 2:
      return KeyKind::kLeft;
    case 3:
      return KeyKind::kInterrupt;
    case 4:
      return KeyKind::kEndOfFile;
    case 5:
      return KeyKind::kLineEnd;
    case 6:
      return KeyKind::kRight;
    case 8:
    case 127:
      return KeyKind::kBackspace;
    case 10:
      return KeyKind::kNewline;
    case 11:
      return KeyKind::kKillToEnd;
    case 12:
      return KeyKind::kClearScreen;
    case 13:
      return KeyKind::kEnter;
    case 14:
      return KeyKind::kDown;
    case 16:
      return KeyKind::kUp;
    case 20:
      return KeyKind::kTranspose;
    case 21:
      return KeyKind::kKillToStart;
    case 23:
      return KeyKind::kKillWordLeft;
    case 25:
      return KeyKind::kYank;
    default:
      return KeyKind::kUnknown;
  }
}

KeyKind alt_key(char c) {
  switch (c) {
    case 'b':
      return KeyKind::kWordLeft;
    case 'f':
      return KeyKind::kWordRight;
    case 'd':
      return KeyKind::kKillWordRight;
    case '\x7f':
    case '\b':
      return KeyKind::kKillWordLeft;
    case '\r':
      return KeyKind::kNewline;
    default:
      return KeyKind::kUnknown;
  }
}

struct KeySequence {
  std::string_view body;  // after "ESC [" or "ESC O"
  KeyKind kind;
};
constexpr std::array<KeySequence, 19> kSequences = {{
    {"A", KeyKind::kUp},          {"B", KeyKind::kDown},         {"C", KeyKind::kRight},
    {"D", KeyKind::kLeft},        {"H", KeyKind::kLineStart},    {"F", KeyKind::kLineEnd},
    {"1~", KeyKind::kLineStart},  {"7~", KeyKind::kLineStart},   {"4~", KeyKind::kLineEnd},
    {"8~", KeyKind::kLineEnd},    {"3~", KeyKind::kDelete},      {"1;5C", KeyKind::kWordRight},
    {"1;5D", KeyKind::kWordLeft}, {"1;3C", KeyKind::kWordRight}, {"1;3D", KeyKind::kWordLeft},
    {"5C", KeyKind::kWordRight},  {"5D", KeyKind::kWordLeft},    {"3;5~", KeyKind::kKillWordRight},
    {"13;2u", KeyKind::kNewline},
}};

KeyKind sequence_key(std::string_view body) {
  const auto* found = std::ranges::find(kSequences, body, &KeySequence::body);
  return found == kSequences.end() ? KeyKind::kUnknown : found->kind;
}

// Terminals paste line ends as carriage returns.
std::string with_newlines(std::string text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r')
      out += text[i];
    else if (i + 1 == text.size() || text[i + 1] != '\n')
      out += '\n';
  }
  return out;
}

}  // namespace

std::vector<Key> KeyParser::feed(std::string_view bytes) {
  pending_ += bytes;
  std::vector<Key> keys;
  size_t used = 0;
  while (!pending_.empty()) {
    if (is_pasting_) {
      if (!take_paste(keys)) break;
      continue;
    }
    Key key;
    used = take_key(key);
    if (used == 0) break;
    if (pending_.starts_with(kPasteBegin)) {
      is_pasting_ = true;
      searched_ = 0;
    } else if (key.kind == KeyKind::kText && !keys.empty() && keys.back().kind == KeyKind::kText) {
      keys.back().text += key.text;  // one insertion for a burst of characters
    } else {
      keys.push_back(std::move(key));
    }
    pending_.erase(0, used);
  }
  return keys;
}

bool KeyParser::take_paste(std::vector<Key>& keys) {
  const size_t end = pending_.find(kPasteEnd, searched_);
  if (end == std::string::npos) {
    searched_ = pending_.size() - std::min(pending_.size(), kPasteEnd.size() - 1);
    return false;
  }
  keys.push_back({KeyKind::kPaste, with_newlines(pending_.substr(0, end))});
  pending_.erase(0, end + kPasteEnd.size());
  is_pasting_ = false;
  return true;
}

size_t KeyParser::take_key(Key& key) const {
  const auto first = static_cast<unsigned char>(pending_.front());
  if (first == 0x1b) return take_escape(key);
  if (first < 0x20 || first == 0x7f) {
    key.kind = first == '\t' ? KeyKind::kText : control_key(first);
    if (first == '\t') key.text.assign(1, '\t');
    return 1;
  }
  const size_t unfinished = utf8::unfinished_suffix(pending_);
  if (unfinished == pending_.size()) return 0;
  const utf8::Decoded decoded = utf8::decode(pending_);
  key = {KeyKind::kText, pending_.substr(0, decoded.size)};
  return decoded.size;
}

size_t KeyParser::take_escape(Key& key) const {
  if (pending_.size() < 2) return 0;
  const char second = pending_[1];
  if (second != '[' && second != 'O') {
    key.kind = alt_key(second);
    return 2;
  }
  // Parameters, then one final byte from '@' to '~'.
  for (size_t i = 2; i < pending_.size(); ++i) {
    const char c = pending_[i];
    if (c >= '@' && c <= '~') {
      key.kind = sequence_key(std::string_view(pending_).substr(2, i - 1));
      return i + 1;
    }
    if (c < ' ' || i > kLongestSequence) return i;  // broken off: drop what there was
  }
  return 0;
}

}  // namespace ingot

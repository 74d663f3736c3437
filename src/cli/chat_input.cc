// SPDX-License-Identifier: Apache-2.0
#include "cli/chat_input.h"

#include <utility>

namespace ingot {
namespace {
constexpr std::string_view kQuote = "\"\"\"";
}

std::optional<std::string> MessageLines::add(std::string_view line) {
  if (!is_open() && line.starts_with(kQuote)) {
    line.remove_prefix(kQuote.size());
    is_quoted_ = true;
    if (line.empty()) return std::nullopt;  // the first line break belongs to the quotes
  }
  if (is_quoted_) {
    if (line.ends_with(kQuote)) {
      text_ += line.substr(0, line.size() - kQuote.size());
      if (text_.ends_with('\n')) text_.pop_back();
      return take();
    }
    text_ += line;
    text_ += '\n';
    return std::nullopt;
  }
  if (line.ends_with('\\')) {
    text_ += line.substr(0, line.size() - 1);
    text_ += '\n';
    is_continued_ = true;
    return std::nullopt;
  }
  text_ += line;
  return take();
}

std::optional<std::string> MessageLines::finish() {
  if (!is_open() || text_.empty()) return std::nullopt;
  return take();
}

std::optional<std::string> MessageLines::take() {
  std::string text = std::move(text_);
  reset();
  return text;
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "cli/line_buffer.h"

#include <algorithm>
#include <cctype>

#include "base/utf8.h"
#include "cli/output.h"
#include "cli/text_width.h"

namespace ingot {
namespace {

// Letters, digits and everything beyond ASCII belong to words.
bool is_word_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) != 0 || byte == '_';
}

}  // namespace

void LineBuffer::set(std::string text) {
  text_ = std::move(text);
  cursor_ = text_.size();
}

void LineBuffer::insert(std::string_view text) {
  const std::string clean = without_control_characters(utf8::replace_invalid(text));
  text_.insert(cursor_, clean);
  cursor_ += clean.size();
}

void LineBuffer::move_left() {
  cursor_ = cluster_before(text_, cursor_);
}

void LineBuffer::move_right() {
  if (cursor_ < text_.size()) cursor_ += cluster_size(std::string_view(text_).substr(cursor_));
}

void LineBuffer::move_word_left() {
  cursor_ = word_left();
}

void LineBuffer::move_word_right() {
  cursor_ = word_right();
}

void LineBuffer::move_to_line_start() {
  cursor_ = line_start(cursor_);
}

void LineBuffer::move_to_line_end() {
  cursor_ = line_end(cursor_);
}

bool LineBuffer::move_up() {
  const size_t begin = line_start(cursor_);
  if (begin == 0) return false;
  const int column = text_columns(std::string_view(text_).substr(begin, cursor_ - begin));
  move_to_column(line_start(begin - 1), column);
  return true;
}

bool LineBuffer::move_down() {
  const size_t end = line_end(cursor_);
  if (end == text_.size()) return false;
  const size_t begin = line_start(cursor_);
  const int column = text_columns(std::string_view(text_).substr(begin, cursor_ - begin));
  move_to_column(end + 1, column);
  return true;
}

void LineBuffer::move_to_column(size_t line_begin, int column) {
  const size_t end = line_end(line_begin);
  cursor_ = line_begin;
  int at = 0;
  while (cursor_ < end && at < column) {
    const std::string_view rest = std::string_view(text_).substr(cursor_);
    const size_t size = cluster_size(rest);
    at += cluster_columns(rest.substr(0, size));
    cursor_ += size;
  }
}

void LineBuffer::erase_left() {
  const size_t begin = cluster_before(text_, cursor_);
  text_.erase(begin, cursor_ - begin);
  cursor_ = begin;
}

void LineBuffer::erase_right() {
  if (cursor_ == text_.size()) return;
  text_.erase(cursor_, cluster_size(std::string_view(text_).substr(cursor_)));
}

void LineBuffer::kill_word_left() {
  kill(word_left(), cursor_);
}

void LineBuffer::kill_word_right() {
  kill(cursor_, word_right());
}

void LineBuffer::kill_to_line_start() {
  kill(line_start(cursor_), cursor_);
}

void LineBuffer::kill_to_line_end() {
  const size_t end = line_end(cursor_);
  kill(cursor_, end == cursor_ ? std::min(end + 1, text_.size()) : end);
}

void LineBuffer::kill(size_t begin, size_t end) {
  if (begin == end) return;
  killed_ = text_.substr(begin, end - begin);
  text_.erase(begin, end - begin);
  cursor_ = begin;
}

void LineBuffer::yank() {
  text_.insert(cursor_, killed_);
  cursor_ += killed_.size();
}

void LineBuffer::transpose() {
  if (cursor_ == 0) return;
  if (cursor_ == text_.size()) move_left();
  if (cursor_ == 0) return;
  const size_t before = cluster_before(text_, cursor_);
  const size_t after = cursor_ + cluster_size(std::string_view(text_).substr(cursor_));
  const auto at = [this](size_t offset) {
    return text_.begin() + static_cast<std::ptrdiff_t>(offset);
  };
  std::rotate(at(before), at(cursor_), at(after));
  cursor_ = after;
}

size_t LineBuffer::line_start(size_t position) const {
  if (position == 0) return 0;
  const size_t newline = text_.rfind('\n', position - 1);
  return newline == std::string::npos ? 0 : newline + 1;
}

size_t LineBuffer::line_end(size_t position) const {
  return std::min(text_.find('\n', position), text_.size());
}

size_t LineBuffer::word_left() const {
  size_t at = cursor_;
  while (at > 0 && !is_word_byte(text_[at - 1]))
    --at;
  while (at > 0 && is_word_byte(text_[at - 1]))
    --at;
  return at;
}

size_t LineBuffer::word_right() const {
  size_t at = cursor_;
  while (at < text_.size() && !is_word_byte(text_[at]))
    ++at;
  while (at < text_.size() && is_word_byte(text_[at]))
    ++at;
  return at;
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "bench/http_response.h"

#include <algorithm>
#include <charconv>

namespace ingot {
namespace {

constexpr size_t kMostLineBytes = size_t{16} << 10;
constexpr size_t kMostHeadBytes = size_t{64} << 10;  // of trailers too
constexpr uint64_t kMostBodyBytes = uint64_t{1} << 40;

char lower_character(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower_character);
  return out;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  const size_t end = text.find_last_not_of(" \t") + 1;
  return begin < end ? text.substr(begin, end - begin) : std::string_view();
}

// Whether a comma-separated list of words has this one.
bool lists(std::string_view list, std::string_view word) {
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    if (lowered(trimmed(list.substr(begin, end - begin))) == word) return true;
    begin = end + 1;
  }
  return false;
}

Result<uint64_t> parse_size(std::string_view text, int base) {
  uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (problem != std::errc() || end != text.data() + text.size() || value > kMostBodyBytes)
    return Status::invalid_data("the server sent '{}' for a size", text.substr(0, 40));
  return value;
}

}  // namespace

std::string_view HttpResponseHead::header(std::string_view name) const {
  for (const auto& [known, value] : headers)
    if (known == name) return value;
  return {};
}

Result<bool> HttpResponseParser::take_line(std::string_view& bytes) {
  const size_t end = bytes.find('\n');
  const size_t taken = std::min(end, bytes.size());
  if (line_.size() + taken > kMostLineBytes)
    return Status::invalid_data("the server sent a line of more than {} bytes", kMostLineBytes);
  line_ += bytes.substr(0, taken);
  if (end == std::string_view::npos) {
    bytes = {};
    return false;
  }
  bytes.remove_prefix(end + 1);
  if (line_.ends_with('\r')) line_.pop_back();
  return true;
}

Status HttpResponseParser::push(std::string_view bytes, const Handler& handler) {
  has_begun_ = has_begun_ || !bytes.empty();
  while (!bytes.empty()) {
    switch (state_) {
      case State::kSized:
      case State::kChunk: {
        const auto part = static_cast<size_t>(std::min<uint64_t>(left_, bytes.size()));
        handler.on_body(bytes.substr(0, part));
        bytes.remove_prefix(part);
        left_ -= part;
        if (left_ == 0) state_ = state_ == State::kSized ? State::kDone : State::kChunkEnd;
        break;
      }
      case State::kUntilClose:
        handler.on_body(bytes);
        return Status::ok();
      case State::kDone:
        return Status::invalid_data("the server sent {} bytes after the end of its response",
                                    bytes.size());
      default: {
        INGOT_TRY(const bool is_whole, take_line(bytes));
        if (!is_whole) return Status::ok();
        INGOT_TRY(take_head_line(handler));
        line_.clear();
      }
    }
  }
  return Status::ok();
}

// A line of the head, of the trailers or around a chunk.
Status HttpResponseParser::take_head_line(const Handler& handler) {
  head_bytes_ += line_.size() + 2;
  switch (state_) {
    case State::kChunkSize:
      head_bytes_ = 0;
      return take_chunk_size();
    case State::kChunkEnd:
      if (!line_.empty()) return Status::invalid_data("the server sent a chunk without its end");
      state_ = State::kChunkSize;
      return Status::ok();
    case State::kTrailer:
      if (line_.empty()) state_ = State::kDone;
      break;
    default:
      break;
  }
  if (head_bytes_ > kMostHeadBytes)
    return Status::invalid_data("the server sent headers of more than {} bytes", kMostHeadBytes);
  if (state_ != State::kHead) return Status::ok();

  if (head_.status == 0) {
    const std::string_view line = line_;
    int status = 0;
    const bool is_http = line.starts_with("HTTP/1.") && line.size() >= 12 && line[8] == ' ';
    if (is_http) std::from_chars(line.data() + 9, line.data() + 12, status);
    if (status < 100)
      return Status::invalid_data("the server does not speak HTTP/1.1: '{}'", line.substr(0, 40));
    head_.status = status;
    keeps_alive_ = line[7] != '0';
    return Status::ok();
  }
  if (line_.empty()) return begin_body(handler);
  const size_t colon = line_.find(':');
  if (colon == std::string::npos || colon == 0)
    return Status::invalid_data("the server sent a header without a name: '{}'",
                                std::string_view(line_).substr(0, 40));
  head_.headers.emplace_back(lowered(std::string_view(line_).substr(0, colon)),
                             trimmed(std::string_view(line_).substr(colon + 1)));
  return Status::ok();
}

Status HttpResponseParser::begin_body(const Handler& handler) {
  if (head_.status < 200) {  // "continue" and the like: the real one follows
    head_ = {};
    return Status::ok();
  }
  const std::string_view connection = head_.header("connection");
  if (lists(connection, "close")) keeps_alive_ = false;
  if (lists(connection, "keep-alive")) keeps_alive_ = true;
  const std::string_view size = head_.header("content-length");
  if (head_.status == 204 || head_.status == 304) {
    state_ = State::kDone;
  } else if (lists(head_.header("transfer-encoding"), "chunked")) {
    state_ = State::kChunkSize;
  } else if (!size.empty()) {
    INGOT_TRY(left_, parse_size(size, 10));
    state_ = left_ > 0 ? State::kSized : State::kDone;
  } else {
    state_ = State::kUntilClose;
    keeps_alive_ = false;
  }
  handler.on_head(head_);
  return Status::ok();
}

Status HttpResponseParser::take_chunk_size() {
  const std::string_view line = line_;
  INGOT_TRY(left_, parse_size(trimmed(line.substr(0, line.find(';'))), 16));
  state_ = left_ > 0 ? State::kChunk : State::kTrailer;
  return Status::ok();
}

Status HttpResponseParser::finish() {
  if (state_ == State::kUntilClose) state_ = State::kDone;
  if (is_done()) return Status::ok();
  if (!has_begun_) return Status::invalid_data("the server closed the connection without a word");
  return Status::invalid_data("the server closed the connection in the middle of its response");
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "bench/sse_parser.h"

#include "base/limits.h"

namespace ingot {

Status SseParser::push(std::string_view bytes, const Handler& handler) {
  while (!bytes.empty()) {
    if (after_cr_) {
      after_cr_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    const size_t end = bytes.find_first_of("\r\n");
    if (line_.size() + data_.size() + std::min(end, bytes.size()) > limits::kConfigBytes) {
      return Status::resource_exhausted("the server sent an event of more than {} bytes",
                                        limits::kConfigBytes);
    }
    if (end == std::string_view::npos) {
      line_ += bytes;
      break;
    }
    line_ += bytes.substr(0, end);
    after_cr_ = bytes[end] == '\r';
    take_line(line_, handler);
    line_.clear();
    bytes.remove_prefix(end + 1);
  }
  return Status::ok();
}

void SseParser::finish(const Handler& handler) {
  if (!line_.empty()) take_line(line_, handler);
  take_line("", handler);
  *this = {};
}

void SseParser::take_line(std::string_view line, const Handler& handler) {
  if (line.empty()) {
    if (has_data_) handler(data_);
    data_.clear();
    has_data_ = false;
    return;
  }
  if (!line.starts_with("data")) return;
  line.remove_prefix(4);
  if (!line.empty() && line.front() != ':') return;  // another field that begins alike
  if (!line.empty()) line.remove_prefix(1);
  if (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  if (has_data_) data_ += '\n';
  has_data_ = true;
  data_ += line;
}

}  // namespace ingot

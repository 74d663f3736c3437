// SPDX-License-Identifier: Apache-2.0
// The lines of a file one by one, each bounded, so that memory does not grow with the file or with
// a file that has no line ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/status.h"

namespace ingot {

// Single thread.
class LineReader {
 public:
  // Regular files only.
  static Result<LineReader> open(const std::filesystem::path& path, size_t most_bytes);
  LineReader(LineReader&& other) noexcept;
  LineReader& operator=(LineReader&& other) = delete;
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;
  ~LineReader();

  struct Line {
    uint64_t number = 0;       // from 1
    std::string text;          // without its end, "\n" or "\r\n"
    bool is_too_long = false;  // then the text is empty
  };
  // Nothing at the end of the file. A last line without an end is a line.
  Result<std::optional<Line>> next();

 private:
  LineReader(int fd, std::string name, size_t most_bytes)
      : fd_(fd), name_(std::move(name)), most_bytes_(most_bytes) {}
  Status fill();

  int fd_;
  std::string name_;
  size_t most_bytes_;
  std::string buffer_;
  size_t begin_ = 0;  // of what is unread in the buffer
  bool is_at_end_ = false;
  uint64_t number_ = 0;
};

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "base/line_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace ingot {
namespace {

constexpr size_t kReadBytes = size_t{256} * 1024;

}  // namespace

Result<LineReader> LineReader::open(const std::filesystem::path& path, size_t most_bytes) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    const auto code = errno == ENOENT ? StatusCode::kNotFound : StatusCode::kIo;
    return Status(code, fmt::format("{}: cannot open: {}", path.string(), std::strerror(errno)));
  }
  LineReader reader(fd, path.string(), most_bytes);
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
    return Status::invalid_argument("{}: not a regular file", path.string());
  return reader;
}

LineReader::LineReader(LineReader&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      name_(std::move(other.name_)),
      most_bytes_(other.most_bytes_),
      buffer_(std::move(other.buffer_)),
      begin_(other.begin_),
      is_at_end_(other.is_at_end_),
      number_(other.number_) {}

LineReader::~LineReader() {
  if (fd_ >= 0) ::close(fd_);
}

Status LineReader::fill() {
  buffer_.erase(0, std::exchange(begin_, 0));
  const size_t size = buffer_.size();
  buffer_.resize(size + kReadBytes);
  ssize_t count = 0;
  do {
    count = ::read(fd_, buffer_.data() + size, kReadBytes);
  } while (count < 0 && errno == EINTR);
  buffer_.resize(size + static_cast<size_t>(std::max<ssize_t>(count, 0)));
  if (count < 0) return Status::io("{}: cannot read: {}", name_, std::strerror(errno));
  is_at_end_ = count == 0;
  return Status::ok();
}

Result<std::optional<LineReader::Line>> LineReader::next() {
  Line line;
  size_t searched = 0;  // of the unread part, known to hold no line end
  size_t end = std::string::npos;
  while (true) {
    end = buffer_.find('\n', begin_ + searched);
    if (end != std::string::npos || is_at_end_) break;
    searched = buffer_.size() - begin_;
    if (searched > most_bytes_ + 1) {  // and perhaps a "\r"
      line.is_too_long = true;
      begin_ = buffer_.size();
      searched = 0;
    }
    INGOT_TRY(fill());
  }
  if (end == std::string::npos && begin_ == buffer_.size() && !line.is_too_long)
    return std::optional<Line>();
  const size_t size = std::min(end, buffer_.size()) - begin_;
  line.number = ++number_;
  line.text = line.is_too_long ? std::string() : buffer_.substr(begin_, size);
  begin_ = std::min(end, buffer_.size() - 1) + 1;
  if (line.text.ends_with('\r')) line.text.pop_back();
  if (line.text.size() > most_bytes_) {
    line.text.clear();
    line.is_too_long = true;
  }
  return std::optional(std::move(line));
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/write_all.h"

namespace ingot {
Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path) {
  AtomicFile file;
  file.path_ = path;
  file.partial_ = path;
  file.partial_ += fmt::format(".{}.partial", ::getpid());
  file.fd_ =
      ::open(file.partial_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file.fd_ < 0) {
    return Status::io("{}: cannot create: {}", file.partial_.string(), std::strerror(errno));
  }
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      partial_(std::move(other.partial_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_) {}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(partial_.c_str());
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  INGOT_TRY(write_all(fd_, bytes, size_, path_.string()));
  size_ += bytes.size();
  return Status::ok();
}

Status AtomicFile::write(std::string_view text) {
  return write(std::as_bytes(std::span(text)));
}

Status AtomicFile::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  INGOT_CHECK(offset + bytes.size() <= size_);
  return write_all(fd_, bytes, offset, path_.string());
}

Status AtomicFile::commit() {
  INGOT_CHECK(fd_ >= 0);
  if (::fsync(fd_) != 0)
    return Status::io("{}: cannot fsync: {}", path_.string(), std::strerror(errno));
  if (::rename(partial_.c_str(), path_.c_str()) != 0) {
    return Status::io("{}: cannot rename into place: {}", path_.string(), std::strerror(errno));
  }
  ::close(std::exchange(fd_, -1));
  return sync_folder_of(path_);
}

Status sync_folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0)
    return Status::io("{}: cannot open folder: {}", folder.string(), std::strerror(errno));
  const bool is_synced = ::fsync(directory) == 0;
  const int error = errno;
  ::close(directory);
  if (!is_synced)
    return Status::io("{}: cannot fsync folder: {}", folder.string(), std::strerror(error));
  return Status::ok();
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "engine/disk_page_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/checksum.h"

namespace ingot {
namespace {

// Fewer bytes than asked for means that the file is shorter.
Result<size_t> read_at(int fd, uint64_t offset, std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t count =
        ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Status::io("cannot read: {}", std::strerror(errno));
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

Status write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      return Status::io("cannot write: {}", std::strerror(count == 0 ? ENOSPC : errno));
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return Status::ok();
}

}  // namespace

Result<DiskPageFile> DiskPageFile::open(const std::filesystem::path& path) {
  DiskPageFile file;
  file.path_ = path;
  // Not blocking: a pipe of that name must not hold the engine up.
  file.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file.fd_ < 0)
    return Status::not_found("{}: cannot open: {}", path.string(), std::strerror(errno));
  struct stat info {};
  if (::fstat(file.fd_, &info) != 0 || !S_ISREG(info.st_mode))
    return Status::unsupported("{}: is no regular file", path.string());
  file.file_bytes_ = static_cast<uint64_t>(info.st_size);
  file.used_ns_ = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  std::vector<std::byte> front(std::min<uint64_t>(file.file_bytes_, kDiskPageHeaderLimit));
  INGOT_TRY(const size_t count, read_at(file.fd_, 0, front));
  INGOT_TRY(file.header_, parse_disk_page_header(std::span(front).first(count), path.string()));
  const uint64_t expected = disk_page_header_bytes(file.header_) + file.header_.payload_bytes;
  if (file.file_bytes_ != expected) {
    return Status::invalid_data("{}: has {} bytes and should have {}", path.string(),
                                file.file_bytes_, expected);
  }
  return file;
}

DiskPageFile::DiskPageFile(DiskPageFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      header_(std::move(other.header_)),
      file_bytes_(other.file_bytes_),
      used_ns_(other.used_ns_) {}

DiskPageFile::~DiskPageFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status DiskPageFile::read_payload(std::span<std::byte> out) const {
  INGOT_CHECK(out.size() == header_.payload_bytes);
  INGOT_TRY(const size_t count, read_at(fd_, disk_page_header_bytes(header_), out));
  if (count != out.size() || checksum64(out) != header_.payload_checksum)
    return Status::invalid_data("{}: the payload does not fit its checksum", path_.string());
  return Status::ok();
}

void DiskPageFile::mark_used() const {
  (void)::futimens(fd_, nullptr);  // where it fails, the page only looks older than it is
}

Status write_disk_page(const std::filesystem::path& path, const DiskPageHeader& header,
                       std::span<const std::byte> payload) {
  std::filesystem::path partial = path;
  partial += ".partial";
  // Nobody else's business: it holds what users wrote, as keys and values.
  const int fd =
      ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return Status::io("{}: cannot create: {}", partial.string(), std::strerror(errno));
  Status status = write_all(fd, write_disk_page_header(header));
  if (status.is_ok()) status = write_all(fd, payload);
  if (::close(fd) != 0 && status.is_ok())
    status = Status::io("cannot close: {}", std::strerror(errno));
  if (status.is_ok() && ::rename(partial.c_str(), path.c_str()) != 0)
    status = Status::io("cannot rename into place: {}", std::strerror(errno));
  if (status.is_ok()) return status;
  ::unlink(partial.c_str());
  return status.with_context(path.string());
}

}  // namespace ingot

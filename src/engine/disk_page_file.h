// SPDX-License-Identifier: Apache-2.0
// One cached page as a file: opened, read, written. Only regular files are touched, links are not
// followed, and a file appears under its name when it is whole. There is no fsync: what a crash
// tears is told by its checksum and costs one page of a cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/status.h"
#include "engine/disk_page.h"

namespace ingot {

// An open file whose header has been read and whose size is the one the header gives. Single
// thread.
class DiskPageFile {
 public:
  // kNotFound: there is none; kUnsupported: not ours to judge; kInvalidData: broken.
  static Result<DiskPageFile> open(const std::filesystem::path& path);
  DiskPageFile(DiskPageFile&& other) noexcept;
  DiskPageFile& operator=(DiskPageFile&& other) = delete;
  DiskPageFile(const DiskPageFile&) = delete;
  DiskPageFile& operator=(const DiskPageFile&) = delete;
  ~DiskPageFile();

  const DiskPageHeader& header() const { return header_; }
  uint64_t file_bytes() const { return file_bytes_; }
  int64_t used_ns() const {
    return used_ns_;
  }  // the time of its last use, as the file system has it
  // Fills `out`, which must be as long as the payload, and compares the checksum.
  Status read_payload(std::span<std::byte> out) const;
  void mark_used() const;

 private:
  DiskPageFile() = default;
  std::filesystem::path path_;
  int fd_ = -1;
  DiskPageHeader header_;
  uint64_t file_bytes_ = 0;
  int64_t used_ns_ = 0;
};

// Writes beside the path and renames.
Status write_disk_page(const std::filesystem::path& path, const DiskPageHeader& header,
                       std::span<const std::byte> payload);

}  // namespace ingot

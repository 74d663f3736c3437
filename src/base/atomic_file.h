// SPDX-License-Identifier: Apache-2.0
// The only way this program writes a file: beside the final path, fsynced, renamed, directory
// fsynced. The final path is absent, or the old file, or the complete new one; never a part.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/status.h"

namespace ingot {

// Single thread. Destroying an uncommitted file removes the part that was written.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::filesystem::path& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) = delete;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  // Overwrites bytes already written (headers whose sizes are known last).
  Status write_at(uint64_t offset, std::span<const std::byte> bytes);
  uint64_t size_bytes() const { return size_; }
  // Makes it durable under its final name. Nothing may be written afterwards.
  Status commit();

 private:
  AtomicFile() = default;
  std::filesystem::path path_;
  std::filesystem::path partial_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

// Makes a file's name durable: what a rename needs to survive a power cut.
Status sync_folder_of(const std::filesystem::path& path);

}  // namespace ingot

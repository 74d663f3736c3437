// SPDX-License-Identifier: Apache-2.0
// A file's bytes, mapped read-only. Weights are used in place, so the file must not vanish under
// us: when it is truncated while mapped, the missing pages read as zeros instead of killing the
// process, and is_intact() turns false. Callers ask it after each unit of work and stop with its
// Status.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"

namespace ingot {

// Thread-safe; the bytes are immutable and live as long as the object.
class MappedFile {
 public:
  // Regular files only: devices, pipes and directories are refused. An empty file maps to no bytes.
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  // Bytes that already live in memory (the embedded model), under the same interface.
  static std::shared_ptr<const MappedFile> from_memory(std::span<const std::byte> bytes,
                                                       std::string name);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& name() const { return name_; }
  // Ok, or an error once the file is shorter than it was, or a page of it was found missing.
  Status check_intact() const;
  // Tells the kernel the bytes will be needed soon.
  void prefetch() const;
  // Tells it that these, part of some mapped file, will not: they leave this process's memory (and
  // come back when read). Bytes that are in no mapped file stay as they are.
  static void release(std::span<const std::byte> bytes);

 private:
  MappedFile() = default;
  std::span<const std::byte> bytes_;
  std::string name_;
  int fd_ = -1;    // kept open: its size tells whether the file is still whole
  int slot_ = -1;  // index in the table that the SIGBUS handler reads; -1 when not mapped
};

// Reads a small file whole; refuses one larger than `limit_bytes`.
Result<std::string> read_small_file(const std::filesystem::path& path, uint64_t limit_bytes);

}  // namespace ingot

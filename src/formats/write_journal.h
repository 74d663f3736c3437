// SPDX-License-Identifier: Apache-2.0
// Which tensors of a partial output are whole: a file that begins with the plan and grows by one
// record a tensor, each with its own checksum, so that a record torn by a crash is known as such.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace ingot {

// Single thread.
class WriteJournal {
 public:
  struct Record {
    uint64_t tensor = 0;
    uint64_t checksum = 0;  // checksum64 of its bytes
  };

  // Goes on with the journal of the same plan, or begins a new one when there is none; not_found
  // when it is another plan's or no journal at all.
  static Result<WriteJournal> open(const std::filesystem::path& path, std::string_view plan);
  WriteJournal(WriteJournal&& other) noexcept;
  WriteJournal& operator=(WriteJournal&& other) = delete;
  ~WriteJournal();

  // Those of earlier runs; the caller compares their checksums with the data.
  const std::vector<Record>& found() const { return found_; }
  bool is_new() const { return is_new_; }
  Status append(const Record& record);
  Status sync();

 private:
  WriteJournal() = default;
  std::string name_;
  std::vector<Record> found_;
  int fd_ = -1;
  uint64_t size_ = 0;
  bool is_new_ = false;
};

}  // namespace ingot

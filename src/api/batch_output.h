// SPDX-License-Identifier: Apache-2.0
// The output of a batch while it runs: OUT.partial, to which each answer is appended whole by one
// write, and which becomes OUT when all are there. Whatever moment the process is killed at, a
// whole line in the partial file is an answer that need not be made again.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "api/batch_line.h"
#include "base/status.h"

namespace ingot {

// Single thread; locked against a second run.
class BatchOutput {
 public:
  // Opens or makes PATH.partial. Each line of an earlier run is shown to `keeps`; lines that it
  // does not want, and a torn last one, are cut out.
  static Result<BatchOutput> open(const std::filesystem::path& path,
                                  const std::function<bool(const BatchAnswered&)>& keeps);
  BatchOutput(BatchOutput&& other) noexcept;
  BatchOutput& operator=(BatchOutput&& other) = delete;
  BatchOutput(const BatchOutput&) = delete;
  BatchOutput& operator=(const BatchOutput&) = delete;
  ~BatchOutput();

  // Appends a whole line. After an error the file still ends with a whole line, if the disk lets
  // it.
  Status append(std::string_view line);
  // Makes it durable under its final name. Nothing may be appended afterwards.
  Status commit();
  const std::filesystem::path& partial() const { return partial_; }

 private:
  using Clock = std::chrono::steady_clock;
  BatchOutput(std::filesystem::path path, std::filesystem::path partial)
      : path_(std::move(path)), partial_(std::move(partial)) {}
  Status open_locked();
  Status resume(const std::function<bool(const BatchAnswered&)>& keeps);
  Status cut(uint64_t size);
  Status sync();

  std::filesystem::path path_;
  std::filesystem::path partial_;
  int fd_ = -1;
  uint64_t size_ = 0;
  Clock::time_point last_sync_ = Clock::now();
};

}  // namespace ingot

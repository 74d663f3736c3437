// SPDX-License-Identifier: Apache-2.0
// OUT.ingot-partial: the folder beside an output in which it is made. Whoever holds it holds a
// lock, so that two runs never write one output; a killed run's folder is found again by the next.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/status.h"

namespace ingot {

// Single thread. Destroying it gives up the lock and removes nothing.
class PartialFolder {
 public:
  // Makes or finds it, and locks it.
  static Result<PartialFolder> open(const std::filesystem::path& output);
  PartialFolder(PartialFolder&& other) noexcept;
  PartialFolder& operator=(PartialFolder&& other) = delete;
  ~PartialFolder();

  const std::filesystem::path& path() const { return path_; }
  // Removes what is in it, or all of it.
  Status clear();
  void remove();

 private:
  PartialFolder() = default;
  std::filesystem::path path_;
  int fd_ = -1;
};

// Refuses an output that is there already, unless it `overwrites`; a folder is then replaced only
// if it looks like a model. An empty folder counts as nothing.
Status check_output(const std::filesystem::path& output, bool is_folder, bool overwrites);
// Says so when `needed_bytes` are more than the output's disk has free.
Status check_free_space(const std::filesystem::path& output, uint64_t needed_bytes);
// One rename of `made` to `output`, durable when it returns. An old folder is exchanged and lies
// under made's name afterwards.
Status move_into_place(const std::filesystem::path& made, const std::filesystem::path& output,
                       bool overwrites);

}  // namespace ingot

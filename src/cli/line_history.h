// SPDX-License-Identifier: Apache-2.0
// What was typed before: kept in a file, one entry a line (line breaks escaped), oldest first.
// Private to the user; trouble with the file never disturbs the chat.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace ingot {

// Single thread.
class LineHistory {
 public:
  static constexpr size_t kMaxEntries = 1000;

  // Without a file it lives in memory only.
  explicit LineHistory(std::optional<std::filesystem::path> file);

  const std::vector<std::string>& entries() const { return entries_; }
  // Empty entries and repetitions of the last one are left out.
  void add(std::string entry);

 private:
  Status save() const;
  std::optional<std::filesystem::path> file_;
  std::vector<std::string> entries_;
};

// A line break as "\n", a backslash as "\\".
std::string escape_entry(std::string_view entry);
std::string unescape_entry(std::string_view line);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "base/free_memory.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

#include "base/cgroup.h"

namespace ingot {
namespace {

// "name value" lines.
uint64_t read_field(const std::filesystem::path& path, const std::string& name) {
  std::ifstream file(path);
  uint64_t value = 0;
  for (std::string found; file >> found;) {
    if (found == name && file >> value) return value;
  }
  return 0;
}

// A file of one number; none where it is not there, or says "max".
std::optional<uint64_t> number_in_file(const std::filesystem::path& path) {
  uint64_t value = 0;
  if (std::ifstream(path) >> value) return value;
  return std::nullopt;
}

std::optional<uint64_t> left_in(const CgroupFolder& folder) {
  const std::filesystem::path& path = folder.path;
  const auto limit = number_in_file(path / (folder.is_v2 ? "memory.max" : "memory.limit_in_bytes"));
  const auto used =
      number_in_file(path / (folder.is_v2 ? "memory.current" : "memory.usage_in_bytes"));
  if (!limit || !used) return std::nullopt;
  const std::string prefix = folder.is_v2 ? "" : "total_";
  const uint64_t cached = read_field(path / "memory.stat", prefix + "inactive_file") +
                          read_field(path / "memory.stat", prefix + "active_file");
  const uint64_t taken = *used - std::min(*used, cached);
  return *limit - std::min(*limit, taken);
}

}  // namespace

uint64_t free_memory_bytes(const std::filesystem::path& root) {
  uint64_t free = read_field(root / "proc/meminfo", "MemAvailable:") * 1024;
  if (free == 0) return 0;
  for (const CgroupFolder& folder : cgroup_folders(root, "memory")) {
    if (const std::optional<uint64_t> left = left_in(folder)) free = std::min(free, *left);
  }
  return free;
}

}  // namespace ingot

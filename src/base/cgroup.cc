// SPDX-License-Identifier: Apache-2.0
#include "base/cgroup.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace ingot {
namespace {

void add_with_parents(std::vector<CgroupFolder>& folders, const std::filesystem::path& mount,
                      const std::string& group, bool is_v2) {
  std::filesystem::path path = std::filesystem::path(group).relative_path().lexically_normal();
  while (true) {
    folders.push_back({mount / path, is_v2});
    if (path.empty() || path == ".") return;
    path = path.parent_path();
  }
}

bool has_name(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const size_t comma = std::min(names.find(','), names.size());
    if (names.substr(0, comma) == name) return true;
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return false;
}

}  // namespace

std::vector<CgroupFolder> cgroup_folders(const std::filesystem::path& root,
                                         std::string_view controller) {
  const std::filesystem::path mount = root / "sys/fs/cgroup";
  std::vector<CgroupFolder> folders;
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "0::/a/b" or "4:cpu,cpuacct:/a/b"
    const size_t first = line.find(':');
    const size_t second = line.find(':', std::min(first, line.size() - 1) + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (names.empty()) {
      add_with_parents(folders, mount, group, true);
    } else if (has_name(names, controller)) {
      add_with_parents(folders, mount / names, group, false);
      add_with_parents(folders, mount / controller, group, false);
    }
  }
  if (folders.empty()) folders.push_back({mount, true});
  return folders;
}

}  // namespace ingot

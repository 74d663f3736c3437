// SPDX-License-Identifier: Apache-2.0
// Where the kernel tells what the control groups of this process allow. Files are read below
// `root`, so that tests can lay out machines of their own.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace ingot {

struct CgroupFolder {
  std::filesystem::path path;  // may not exist
  bool is_v2;
};

// The group of this process for a controller ("cpu", "memory") and all around it, in both versions.
// Seen from inside a container a path may be the host's and not be there: its parents count.
std::vector<CgroupFolder> cgroup_folders(const std::filesystem::path& root,
                                         std::string_view controller);

}  // namespace ingot

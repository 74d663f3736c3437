// SPDX-License-Identifier: Apache-2.0
#include "oracle_files.h"

#include <algorithm>
#include <set>

namespace ingot::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = INGOT_SOURCE_DIR;

void collect(const fs::path& root, const std::string& marker, std::set<std::string>& seen,
             std::vector<fs::path>& found) {
  std::error_code error;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    if (fs::exists(entry.path() / marker)) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  for (const fs::path& folder : folders) {
    if (seen.insert(folder.filename().string()).second) found.push_back(folder);
  }
}

}  // namespace

std::vector<fs::path> oracle_folders(const std::string& kind, const std::string& marker) {
  std::set<std::string> seen;
  std::vector<fs::path> found;
  collect(kSource / "build/oracle", marker, seen, found);
  collect(kSource / "tests/oracle" / kind, marker, seen, found);
  return found;
}

bool has_full_oracle() {
  return fs::exists(kSource / "build/oracle/SUMMARY.json");
}

}  // namespace ingot::testing

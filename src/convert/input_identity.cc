// SPDX-License-Identifier: Apache-2.0
#include "convert/input_identity.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <set>

namespace ingot {
namespace {

namespace fs = std::filesystem;

std::string describe(const fs::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return fmt::format("{} none\n", path.string());
  return fmt::format("{} {} {}.{:09}\n", path.string(), found.st_size, found.st_mtim.tv_sec,
                     found.st_mtim.tv_nsec);
}

}  // namespace

std::string input_identity(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(path, error);
  const bool is_folder = fs::is_directory(whole, error);
  std::set<fs::path> files;
  if (!is_folder) files.insert(whole);
  // Beside a file stand its splits, its shards and its configuration.
  for (fs::directory_iterator it(is_folder ? whole : whole.parent_path(), error);
       !error && it != fs::directory_iterator(); it.increment(error)) {
    const std::string extension = it->path().extension().string();
    const bool is_part = is_folder ? extension == ".safetensors" || extension == ".gguf"
                                   : extension == whole.extension();
    if (is_part || extension == ".json" || extension == ".model") files.insert(it->path());
  }
  std::string text;
  for (const fs::path& file : files)
    text += describe(file);
  return text;
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "formats/partial_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/atomic_file.h"
#include "base/write_all.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

constexpr int kLockAttempts = 100;

// False when the folder was removed or replaced since it was opened: its last owner had finished.
bool is_still_there(int fd, const fs::path& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

bool is_model_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / "config.json", error)) return true;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    const std::string extension = it->path().extension().string();
    if (extension == ".safetensors" || extension == ".gguf") return true;
  }
  return false;
}

std::string gigabytes(uint64_t bytes) {
  return bytes < 10'000'000'000 ? fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6)
                                : fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

bool is_unsupported(int error) {
  return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP;
}

Status rename_error(const fs::path& output, int error) {
  if (error == EEXIST || error == ENOTEMPTY) {
    return Status::io("{}: appeared while it was being written; move it away and run again",
                      output.string());
  }
  return write_error(output.string(), "rename into place", error);
}

// For file systems that cannot exchange: the output is absent between the two renames.
Status swap_folders(const fs::path& made, const fs::path& output) {
  fs::path old = made;
  old += ".old";
  if (::rename(output.c_str(), old.c_str()) != 0) return rename_error(output, errno);
  if (::rename(made.c_str(), output.c_str()) == 0) return Status::ok();
  const int error = errno;
  if (::rename(old.c_str(), output.c_str()) == 0) return rename_error(output, error);
  return Status::io("{}: could not be replaced; the old one is {}", output.string(), old.string());
}

}  // namespace

Result<PartialFolder> PartialFolder::open(const fs::path& output) {
  PartialFolder folder;
  folder.path_ = output;
  folder.path_ += ".ingot-partial";
  for (int i = 0; i < kLockAttempts; ++i) {
    if (::mkdir(folder.path_.c_str(), 0777) != 0 && errno != EEXIST) {
      return write_error(folder.path_.string(), "create", errno);
    }
    const int fd = ::open(folder.path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) continue;  // its owner has just finished
    if (fd < 0) return write_error(folder.path_.string(), "open", errno);
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      ::close(fd);
      if (error != EWOULDBLOCK) return write_error(folder.path_.string(), "lock", error);
      return Status::refused(
          "{}: another process is writing it; wait for it or choose another path", output.string());
    }
    if (is_still_there(fd, folder.path_)) {
      folder.fd_ = fd;
      return folder;
    }
    ::close(fd);
  }
  return Status::io("{}: comes and goes; another process is writing it", folder.path_.string());
}

PartialFolder::PartialFolder(PartialFolder&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

PartialFolder::~PartialFolder() {
  if (fd_ >= 0) ::close(fd_);
}

Status PartialFolder::clear() {
  std::error_code error;
  for (fs::directory_iterator it(path_, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    fs::remove_all(it->path(), error);
    if (error) break;
  }
  if (!error) return Status::ok();
  return Status::io("{}: cannot empty: {}; remove it", path_.string(), error.message());
}

void PartialFolder::remove() {
  std::error_code ignored;  // what stays is only the partial, and the next run takes it up
  fs::remove_all(path_, ignored);
}

Status check_output(const fs::path& output, bool is_folder, bool overwrites) {
  std::error_code error;
  const fs::file_status status = fs::status(output, error);
  if (!fs::exists(status)) {
    if (fs::is_directory(parent_of(output), error)) return Status::ok();
    return Status::not_found("{}: no such folder; make it first", parent_of(output).string());
  }
  if (is_folder && fs::is_directory(status) && fs::is_empty(output, error)) return Status::ok();
  if (fs::is_directory(status) != is_folder) {
    return Status::invalid_argument("{}: is a {}; the output is a {}", output.string(),
                                    is_folder ? "file" : "folder", is_folder ? "folder" : "file");
  }
  if (!overwrites) {
    return Status::refused("{}: exists; give --force to replace it", output.string());
  }
  if (is_folder && !is_model_folder(output)) {
    return Status::refused("{}: is a folder without a model; remove it or choose another path",
                           output.string());
  }
  return Status::ok();
}

Status check_free_space(const fs::path& output, uint64_t needed_bytes) {
  struct statvfs disk {};
  if (::statvfs(parent_of(output).c_str(), &disk) != 0) return Status::ok();  // writing will tell
  const uint64_t free_bytes = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
  if (needed_bytes <= free_bytes) return Status::ok();
  return Status::resource_exhausted(
      "{}: needs {}, but its disk has {} free; free some space or choose another place",
      output.string(), gigabytes(needed_bytes), gigabytes(free_bytes));
}

Status move_into_place(const fs::path& made, const fs::path& output, bool overwrites) {
  struct stat there {};
  const bool has_folder = ::stat(output.c_str(), &there) == 0 && S_ISDIR(there.st_mode);
  // An empty folder is replaced by the plain rename.
  int result = -1;
  if (has_folder && overwrites) {
    result = ::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, output.c_str(), RENAME_EXCHANGE);
    if (result != 0 && is_unsupported(errno)) {
      INGOT_TRY(swap_folders(made, output));
      result = 0;
    }
  } else if (has_folder || overwrites) {
    result = ::rename(made.c_str(), output.c_str());
  } else {
    result = ::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, output.c_str(), RENAME_NOREPLACE);
    if (result != 0 && is_unsupported(errno)) {
      if (::stat(output.c_str(), &there) == 0) return rename_error(output, EEXIST);
      result = ::rename(made.c_str(), output.c_str());
    }
  }
  if (result != 0) return rename_error(output, errno);
  return sync_folder_of(output);
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "api/batch_output.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/atomic_file.h"
#include "base/mapped_file.h"

namespace ingot {
namespace {

constexpr std::chrono::seconds kSyncEvery{5};

// Calls `visit(line)` for each whole line; returns the bytes up to the last line end.
template <class Visit>
size_t for_each_line(std::string_view text, Visit visit) {
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', begin)) {
    visit(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return begin;
}

}  // namespace

Result<BatchOutput> BatchOutput::open(const std::filesystem::path& path,
                                      const std::function<bool(const BatchAnswered&)>& keeps) {
  std::filesystem::path partial = path;
  partial += ".partial";
  BatchOutput output(path, std::move(partial));
  INGOT_TRY(output.open_locked());
  INGOT_TRY(output.resume(keeps));
  return output;
}

BatchOutput::BatchOutput(BatchOutput&& other) noexcept
    : path_(std::move(other.path_)),
      partial_(std::move(other.partial_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      last_sync_(other.last_sync_) {}

BatchOutput::~BatchOutput() {
  if (fd_ < 0) return;
  (void)sync();  // what cannot be synced is written all the same
  ::close(fd_);
}

Status BatchOutput::open_locked() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = ::open(partial_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
               0644);
  if (fd_ < 0) return Status::io("{}: cannot open: {}", partial_.string(), std::strerror(errno));
  struct stat opened {};
  if (::fstat(fd_, &opened) != 0 || !S_ISREG(opened.st_mode))
    return Status::invalid_argument("{}: not a regular file", partial_.string());
  const bool is_locked = ::flock(fd_, LOCK_EX | LOCK_NB) == 0;
  struct stat named {};
  // Another run may have renamed the file between our open and our lock.
  const bool is_ours = is_locked && ::stat(partial_.c_str(), &named) == 0 &&
                       named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
  if (!is_ours) return Status::invalid_argument("{}: another run is writing it", partial_.string());
  size_ = static_cast<uint64_t>(opened.st_size);
  return Status::ok();
}

Status BatchOutput::resume(const std::function<bool(const BatchAnswered&)>& keeps) {
  if (size_ == 0) return Status::ok();
  INGOT_TRY(const std::shared_ptr<const MappedFile> file, MappedFile::open(partial_));
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                              file->bytes().size());
  std::vector<std::string_view> wanted;  // runs of lines that stay
  size_t unwanted = 0;
  const size_t whole = for_each_line(text, [&](std::string_view line) {
    const std::optional<BatchAnswered> answered = parse_answered(line);
    if (!answered || !keeps(*answered)) {
      ++unwanted;
      return;
    }
    const std::string_view with_end(line.data(), line.size() + 1);
    const bool continues =
        !wanted.empty() && wanted.back().data() + wanted.back().size() == line.data();
    if (continues) {
      wanted.back() = {wanted.back().data(), wanted.back().size() + with_end.size()};
    } else {
      wanted.push_back(with_end);
    }
  });
  INGOT_TRY(file->check_intact());
  if (unwanted == 0) return cut(whole);
  INGOT_TRY(AtomicFile rewritten, AtomicFile::create(partial_));
  for (const std::string_view part : wanted) {
    INGOT_TRY(rewritten.write(part));
  }
  INGOT_TRY(file->check_intact());
  INGOT_TRY(rewritten.commit());
  return open_locked();
}

Status BatchOutput::cut(uint64_t size) {
  if (size == size_) return Status::ok();
  if (::ftruncate(fd_, static_cast<off_t>(size)) != 0)
    return Status::io("{}: cannot truncate: {}", partial_.string(), std::strerror(errno));
  size_ = size;
  return Status::ok();
}

Status BatchOutput::append(std::string_view line) {
  size_t written = 0;
  while (written < line.size()) {  // once, unless the disk is full or a signal came
    const ssize_t count = ::write(fd_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count > 0) {
      written += static_cast<size_t>(count);
      continue;
    }
    const int error = count == 0 ? ENOSPC : errno;
    // Where this fails too, the next run cuts the torn line.
    [[maybe_unused]] const int cut = ::ftruncate(fd_, static_cast<off_t>(size_));
    return Status(error == ENOSPC ? StatusCode::kResourceExhausted : StatusCode::kIo,
                  fmt::format("{}: cannot write: {}; run again to go on from here",
                              partial_.string(), std::strerror(error)));
  }
  size_ += line.size();
  if (Clock::now() - last_sync_ < kSyncEvery) return Status::ok();
  return sync();
}

Status BatchOutput::sync() {
  last_sync_ = Clock::now();
  if (::fsync(fd_) == 0) return Status::ok();
  return Status::io("{}: cannot fsync: {}", partial_.string(), std::strerror(errno));
}

Status BatchOutput::commit() {
  INGOT_TRY(sync());
  if (::rename(partial_.c_str(), path_.c_str()) != 0)
    return Status::io("{}: cannot rename into place: {}", path_.string(), std::strerror(errno));
  ::close(std::exchange(fd_, -1));
  return sync_folder_of(path_);
}

}  // namespace ingot

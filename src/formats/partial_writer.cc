// SPDX-License-Identifier: Apache-2.0
#include "formats/partial_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/limits.h"
#include "base/mapped_file.h"
#include "base/write_all.h"
#include "formats/partial_folder.h"
#include "formats/quote_name.h"
#include "formats/write_journal.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

// A power cut costs at most so much work; a killed process costs none.
constexpr uint64_t kSyncBytes = 256 * limits::kMiB;
constexpr auto kSyncTime = std::chrono::seconds(5);
constexpr uint64_t kJournalBytes = 4096;  // and a record a tensor
constexpr uint64_t kRecordBytes = 24;

struct OpenFile {
  OpenFile() = default;
  OpenFile(OpenFile&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  OpenFile& operator=(OpenFile&&) = delete;
  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }
  int fd = -1;
};

// Reserves the space, so that a disk that is too small is known before the work begins.
Status reserve(int fd, uint64_t size, const std::string& name) {
  int result = -1;
  do {
    result = ::fallocate(fd, 0, 0, static_cast<off_t>(size));
  } while (result != 0 && errno == EINTR);
  if (result != 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) {
    result = ::ftruncate(fd, static_cast<off_t>(size));
  }
  return result == 0 ? Status::ok() : write_error(name, "reserve space", errno);
}

Status sync_file(int fd, const fs::path& path) {
  return ::fsync(fd) == 0 ? Status::ok() : write_error(path.string(), "fsync", errno);
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

class PartialWriter final : public TensorWriter {
 public:
  PartialWriter(OutputPlan plan, const WriterOptions& options, PartialFolder folder)
      : plan_(std::move(plan)),
        options_(options),
        folder_(std::move(folder)),
        made_(folder_.path() / "made"),
        written_(plan_.tensors.size(), 0),
        is_done_(plan_.tensors.size(), false),
        maps_(plan_.files.size()),
        unsynced_(plan_.files.size(), false) {}

  ~PartialWriter() override {
    if (is_committed_) return;
    if (has_failed_ || std::ranges::find(is_done_, true) == is_done_.end()) folder_.remove();
  }

  Status start();

  size_t size() const override { return plan_.tensors.size(); }
  uint64_t size_bytes(size_t index) const override { return plan_.tensors.at(index).size_bytes; }
  bool is_done(size_t index) const override { return is_done_.at(index); }
  Status write(size_t index, std::span<const std::byte> bytes) override;
  Status write_part(size_t index, uint64_t offset, std::span<const std::byte> bytes) override;
  Status finish(size_t index) override;
  Result<TensorView> view(size_t index) const override;
  Status commit() override;

 private:
  fs::path file_path(size_t file) const { return made_ / plan_.files[file].name; }
  fs::path final_path(size_t file) const;
  Status remember(Status status) {  // a failed write must leave nothing behind
    has_failed_ |= !status.is_ok();
    return status;
  }
  Status begin_anew();
  Status check_space() const;
  Status open_files();
  bool resume_files();
  Status verify_found();
  Status write_side_files();
  Status put(size_t index, uint64_t offset, std::span<const std::byte> bytes);
  Result<std::span<const std::byte>> mapped(size_t index) const;
  Status mark_done(size_t index, uint64_t checksum);
  Status sync();
  Status make_durable();

  const OutputPlan plan_;
  const WriterOptions options_;
  PartialFolder folder_;
  const fs::path made_;
  std::optional<WriteJournal> journal_;
  std::vector<OpenFile> files_;
  std::vector<uint64_t> written_;  // bytes of each tensor, by this run
  std::vector<bool> is_done_;
  mutable std::vector<std::shared_ptr<const MappedFile>> maps_;
  std::vector<bool> unsynced_;
  uint64_t unsynced_bytes_ = 0;
  std::chrono::steady_clock::time_point last_sync_ = std::chrono::steady_clock::now();
  bool has_failed_ = false;
  bool is_committed_ = false;
};

Status PartialWriter::start() {
  auto journal = WriteJournal::open(folder_.path() / "journal", options_.plan);
  if (journal.is_ok() && !journal->is_new()) journal_.emplace(*std::move(journal));
  if (!journal_ || !resume_files()) {
    INGOT_TRY(remember(begin_anew()));
  } else {
    INGOT_TRY(remember(verify_found()));
  }
  return remember(write_side_files());
}

fs::path PartialWriter::final_path(size_t file) const {
  return plan_.is_folder ? plan_.output : plan_.output.parent_path() / plan_.files[file].name;
}

Status PartialWriter::check_space() const {
  uint64_t needed = kJournalBytes + kRecordBytes * plan_.tensors.size();
  for (const OutputFile& file : plan_.files)
    needed += file.size_bytes;
  for (const SideFile& file : plan_.side_files) {
    std::error_code ignored;
    needed += file.copy_of.empty() ? file.bytes.size() : fs::file_size(file.copy_of, ignored);
  }
  return check_free_space(plan_.output, needed);
}

Status PartialWriter::begin_anew() {
  journal_.reset();
  files_.clear();
  INGOT_TRY(folder_.clear());
  INGOT_TRY(check_space());
  if (::mkdir(made_.c_str(), 0777) != 0) return write_error(made_.string(), "create", errno);
  for (size_t i = 0; i < plan_.files.size(); ++i) {
    const OutputFile& file = plan_.files[i];
    const std::string name = file_path(i).string();
    files_.emplace_back();
    files_[i].fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (files_[i].fd < 0) return write_error(name, "create", errno);
    INGOT_TRY(reserve(files_[i].fd, file.size_bytes, name));
    INGOT_TRY(write_all(files_[i].fd, std::as_bytes(std::span(file.head)), 0, name));
  }
  // Last: a journal says that the files are there.
  INGOT_TRY(WriteJournal journal, WriteJournal::open(folder_.path() / "journal", options_.plan));
  journal_.emplace(std::move(journal));
  return Status::ok();
}

// True when what an earlier run left has the same files with the same heads.
bool PartialWriter::resume_files() {
  for (size_t i = 0; i < plan_.files.size(); ++i) {
    const OutputFile& file = plan_.files[i];
    files_.emplace_back();
    files_[i].fd = ::open(file_path(i).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct stat found {};
    if (files_[i].fd < 0 || ::fstat(files_[i].fd, &found) != 0 || !S_ISREG(found.st_mode) ||
        static_cast<uint64_t>(found.st_size) != file.size_bytes) {
      return false;
    }
    const auto map = MappedFile::open(file_path(i));
    if (!map.is_ok() || (*map)->bytes().size() != file.size_bytes) return false;
    if (std::memcmp((*map)->bytes().data(), file.head.data(), file.head.size()) != 0) return false;
    maps_[i] = *map;
  }
  return true;
}

// A record counts only if the data agrees: after a power cut it may have been lost.
Status PartialWriter::verify_found() {
  for (const WriteJournal::Record& record : journal_->found()) {
    if (record.tensor >= plan_.tensors.size() || is_done_[record.tensor]) continue;
    INGOT_TRY(const auto bytes, mapped(record.tensor));
    is_done_[record.tensor] = checksum64(bytes) == record.checksum;
    MappedFile::release(bytes);
  }
  return Status::ok();
}

Status PartialWriter::write_side_files() {
  for (const SideFile& file : plan_.side_files) {
    INGOT_CHECK(is_plain_name(file.name));
    std::string copied;
    if (!file.copy_of.empty()) {
      INGOT_TRY(copied, read_small_file(file.copy_of, limits::kTokenizerJsonBytes));
    }
    const std::string& bytes = file.copy_of.empty() ? file.bytes : copied;
    const fs::path path = made_ / file.name;
    OpenFile opened;
    opened.fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (opened.fd < 0) return write_error(path.string(), "create", errno);
    INGOT_TRY(write_all(opened.fd, std::as_bytes(std::span(bytes)), 0, path.string()));
    INGOT_TRY(sync_file(opened.fd, path));
  }
  return Status::ok();
}

Status PartialWriter::put(size_t index, uint64_t offset, std::span<const std::byte> bytes) {
  INGOT_CHECK(!is_committed_ && !is_done_.at(index));
  const OutputTensor& tensor = plan_.tensors[index];
  INGOT_CHECK(offset <= tensor.size_bytes && bytes.size() <= tensor.size_bytes - offset);
  INGOT_TRY(write_all(files_[tensor.file].fd, bytes, tensor.offset + offset,
                      file_path(tensor.file).string()));
  written_[index] += bytes.size();
  unsynced_[tensor.file] = true;
  unsynced_bytes_ += bytes.size();
  return Status::ok();
}

Status PartialWriter::write(size_t index, std::span<const std::byte> bytes) {
  INGOT_CHECK(bytes.size() == size_bytes(index));
  INGOT_TRY(remember(put(index, 0, bytes)));
  return remember(mark_done(index, checksum64(bytes)));
}

Status PartialWriter::write_part(size_t index, uint64_t offset, std::span<const std::byte> bytes) {
  return remember(put(index, offset, bytes));
}

Status PartialWriter::finish(size_t index) {
  INGOT_CHECK(written_.at(index) == size_bytes(index));
  auto bytes = mapped(index);  // from the page cache: it has just been written
  if (!bytes.is_ok()) return remember(bytes.status());
  const uint64_t checksum = checksum64(*bytes);
  MappedFile::release(*bytes);
  return remember(mark_done(index, checksum));
}

Status PartialWriter::mark_done(size_t index, uint64_t checksum) {
  INGOT_TRY(journal_->append({index, checksum}));
  is_done_[index] = true;
  const auto now = std::chrono::steady_clock::now();
  if (unsynced_bytes_ < kSyncBytes && now - last_sync_ < kSyncTime) return Status::ok();
  INGOT_TRY(sync());
  last_sync_ = std::chrono::steady_clock::now();
  return Status::ok();
}

Status PartialWriter::sync() {
  for (size_t i = 0; i < files_.size(); ++i) {
    if (!unsynced_[i]) continue;
    if (::fdatasync(files_[i].fd) != 0) {
      return write_error(file_path(i).string(), "fdatasync", errno);
    }
    unsynced_[i] = false;
  }
  unsynced_bytes_ = 0;
  return journal_->sync();
}

Result<std::span<const std::byte>> PartialWriter::mapped(size_t index) const {
  const OutputTensor& tensor = plan_.tensors[index];
  std::shared_ptr<const MappedFile>& map = maps_[tensor.file];
  if (map == nullptr) {
    INGOT_TRY(map, MappedFile::open(file_path(tensor.file)));
  }
  if (map->bytes().size() != plan_.files[tensor.file].size_bytes) {
    return Status::io("{}: was changed while it was being written", map->name());
  }
  return map->bytes().subspan(tensor.offset, tensor.size_bytes);
}

Result<TensorView> PartialWriter::view(size_t index) const {
  INGOT_CHECK(is_done_.at(index));
  INGOT_TRY(const auto bytes, mapped(index));
  return TensorView{plan_.tensors[index].layout, plan_.tensors[index].shape, bytes};
}

Status PartialWriter::make_durable() {
  for (size_t i = 0; i < files_.size(); ++i) {
    if (maps_[i] != nullptr) INGOT_TRY(maps_[i]->check_intact());
    INGOT_TRY(sync_file(files_[i].fd, file_path(i)));
  }
  return sync_folder_of(made_ / "any");
}

Status PartialWriter::commit() {
  INGOT_CHECK(!is_committed_ && std::ranges::find(is_done_, false) == is_done_.end());
  INGOT_TRY(remember(make_durable()));
  // From here on the work is whole: a failed rename keeps it for the next run.
  if (plan_.is_folder) {
    INGOT_TRY(move_into_place(made_, plan_.output, options_.overwrites));
  } else {
    // The first last: who opens it finds the others.
    for (size_t i = plan_.files.size(); i > 0; --i) {
      const bool may_replace = options_.overwrites || i > 1;
      INGOT_TRY(move_into_place(file_path(i - 1), final_path(i - 1), may_replace));
    }
  }
  is_committed_ = true;
  folder_.remove();
  return Status::ok();
}

// After a kill between the last rename and the removal, only the husk of a partial is left.
void remove_husk(const fs::path& output) {
  fs::path partial = output;
  partial += ".ingot-partial";
  std::error_code error;
  if (!fs::is_directory(partial, error)) return;
  auto folder = PartialFolder::open(output);
  if (!folder.is_ok()) return;
  const bool has_data =
      fs::exists(partial / "made", error) && !fs::is_empty(partial / "made", error);
  if (!has_data) folder->remove();
}

}  // namespace

Result<std::unique_ptr<TensorWriter>> open_partial_writer(OutputPlan plan,
                                                          const WriterOptions& options) {
  if (Status status = check_output(plan.output, plan.is_folder, options.overwrites);
      !status.is_ok()) {
    remove_husk(plan.output);
    return status;
  }
  INGOT_TRY(PartialFolder folder, PartialFolder::open(plan.output));
  auto writer = std::make_unique<PartialWriter>(std::move(plan), options, std::move(folder));
  INGOT_TRY(writer->start());
  return std::unique_ptr<TensorWriter>(std::move(writer));
}

}  // namespace ingot

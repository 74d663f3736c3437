// SPDX-License-Identifier: Apache-2.0
#include "formats/write_journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/checksum.h"
#include "base/limits.h"
#include "base/mapped_file.h"
#include "base/write_all.h"

namespace ingot {
namespace {

constexpr std::string_view kMagic = "ingot partial 1\n";

using Words = std::array<uint64_t, 3>;  // tensor, checksum, checksum of these two

Words words_of(const WriteJournal::Record& record) {
  const std::array<uint64_t, 2> payload = {record.tensor, record.checksum};
  return {payload[0], payload[1], checksum64(std::as_bytes(std::span(payload)))};
}

std::string head_of(std::string_view plan) {
  const uint64_t size = plan.size();
  std::string head(kMagic);
  head.append(reinterpret_cast<const char*>(&size), sizeof(size));
  return head.append(plan);
}

}  // namespace

Result<WriteJournal> WriteJournal::open(const std::filesystem::path& path, std::string_view plan) {
  WriteJournal journal;
  journal.name_ = path.string();
  journal.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (journal.fd_ < 0) return write_error(journal.name_, "create", errno);
  const std::string head = head_of(plan);
  INGOT_TRY(const std::string text,
            read_small_file(path, head.size() + limits::kGgufTensors * sizeof(Words)));
  if (text.empty()) {
    INGOT_TRY(write_all(journal.fd_, std::as_bytes(std::span(head)), 0, journal.name_));
    journal.size_ = head.size();
    journal.is_new_ = true;
    return journal;
  }
  if (!text.starts_with(head)) return Status::not_found("{}: of another plan", journal.name_);
  journal.size_ = head.size();
  while (text.size() - journal.size_ >= sizeof(Words)) {
    Words words;
    std::memcpy(words.data(), text.data() + journal.size_, sizeof(words));
    const Record record{words[0], words[1]};
    if (words != words_of(record)) break;
    journal.found_.push_back(record);
    journal.size_ += sizeof(words);
  }
  return journal;
}

WriteJournal::WriteJournal(WriteJournal&& other) noexcept
    : name_(std::move(other.name_)),
      found_(std::move(other.found_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      is_new_(other.is_new_) {}

WriteJournal::~WriteJournal() {
  if (fd_ >= 0) ::close(fd_);
}

Status WriteJournal::append(const Record& record) {
  const Words words = words_of(record);
  INGOT_TRY(write_all(fd_, std::as_bytes(std::span(words)), size_, name_));
  size_ += sizeof(words);
  return Status::ok();
}

Status WriteJournal::sync() {
  if (::fdatasync(fd_) == 0) return Status::ok();
  return write_error(name_, "fdatasync", errno);
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "cli/line_history.h"

#include <sys/stat.h>

#include <system_error>

#include "base/atomic_file.h"
#include "base/limits.h"
#include "base/mapped_file.h"

namespace ingot {
namespace {

constexpr uint64_t kHistoryBytes = 16 * limits::kMiB;

std::vector<std::string> load(const std::filesystem::path& file) {
  std::vector<std::string> entries;
  const Result<std::string> text = read_small_file(file, kHistoryBytes);
  if (!text.is_ok()) return entries;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) entries.push_back(unescape_entry(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return entries;
}

void trim(std::vector<std::string>& entries) {
  if (entries.size() <= LineHistory::kMaxEntries) return;
  entries.erase(entries.begin(),
                entries.end() - static_cast<std::ptrdiff_t>(LineHistory::kMaxEntries));
}

}  // namespace

std::string escape_entry(std::string_view entry) {
  std::string line;
  for (const char c : entry) {
    if (c == '\n')
      line += "\\n";
    else if (c == '\\')
      line += "\\\\";
    else
      line += c;
  }
  return line;
}

std::string unescape_entry(std::string_view line) {
  std::string entry;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\' || i + 1 == line.size())
      entry += line[i];
    else
      entry += line[++i] == 'n' ? '\n' : line[i];
  }
  return entry;
}

LineHistory::LineHistory(std::optional<std::filesystem::path> file) : file_(std::move(file)) {
  if (!file_) return;
  entries_ = load(*file_);
  trim(entries_);
}

void LineHistory::add(std::string entry) {
  if (entry.empty() || (!entries_.empty() && entries_.back() == entry)) return;
  entries_.push_back(std::move(entry));
  trim(entries_);
  // A folder that cannot be written costs the history of this session, nothing else.
  if (file_ && !save().is_ok()) file_.reset();
}

Status LineHistory::save() const {
  std::error_code error;
  std::filesystem::create_directories(file_->parent_path(), error);
  if (error) return Status::io("{}: {}", file_->parent_path().string(), error.message());
  // Another session may have written since: keep its entries.
  std::vector<std::string> all = load(*file_);
  all.push_back(entries_.back());
  trim(all);
  std::string text;
  for (const std::string& entry : all)
    text += escape_entry(entry) + "\n";
  INGOT_TRY(AtomicFile file, AtomicFile::create(*file_));
  INGOT_TRY(file.write(text));
  INGOT_TRY(file.commit());
  ::chmod(file_->c_str(), S_IRUSR | S_IWUSR);  // what one typed is nobody else's business
  return Status::ok();
}

}  // namespace ingot

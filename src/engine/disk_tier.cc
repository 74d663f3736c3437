// SPDX-License-Identifier: Apache-2.0
#include "engine/disk_tier.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/checksum.h"
#include "base/limits.h"
#include "base/log.h"
#include "engine/disk_page.h"
#include "engine/disk_page_file.h"

namespace ingot {
namespace {

constexpr int kFailuresInARow = 8;  // then the disk is left alone
constexpr std::string_view kSuffix = ".kvpage";

// Only names that disk_page_name() gives are looked at or removed: it is the user's directory.
bool is_page_name(std::string_view name) {
  if (!name.ends_with(kSuffix)) return false;
  name.remove_suffix(kSuffix.size());
  const size_t dash = name.find('-');
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_hex = [&](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); };
  return dash == 64 && name.size() > 65 && name.size() <= 67 &&
         std::ranges::all_of(name.substr(0, dash), is_hex) &&
         std::ranges::all_of(name.substr(dash + 1), is_digit);
}

bool is_partial_name(std::string_view name) {
  constexpr std::string_view kPartial = ".partial";
  return name.ends_with(kPartial) && is_page_name(name.substr(0, name.size() - kPartial.size()));
}

}  // namespace

Result<std::unique_ptr<DiskTier>> DiskTier::open(DiskTierOptions options) {
  if (options.page_tokens < 1 || options.page_tokens > int64_t{limits::kKvPageTokens}) {
    return Status::invalid_argument("disk tier: pages of {} tokens; 1 to {} can be kept",
                                    options.page_tokens, limits::kKvPageTokens);
  }
  if (options.layout.size() > limits::kKvPageLayoutBytes ||
      options.page_bytes.size() > limits::kKvPageGroups) {
    return Status::invalid_argument("disk tier: {} groups of layers and a layout of {} bytes",
                                    options.page_bytes.size(), options.layout.size());
  }
  for (const uint64_t bytes : options.page_bytes) {
    if (bytes > limits::kKvPageBytes) {
      return Status::invalid_argument("disk tier: a page of {} bytes; at most {} can be kept",
                                      bytes, limits::kKvPageBytes);
    }
  }
  std::unique_ptr<DiskTier> tier(new DiskTier(std::move(options)));
  tier->scan();
  if (tier->is_usable_) {
    tier->writer_ =
        std::jthread([self = tier.get()](const std::stop_token& stop) { self->write_loop(stop); });
  }
  return tier;
}

DiskTier::DiskTier(DiskTierOptions options) : options_(std::move(options)) {}

DiskTier::~DiskTier() = default;

std::filesystem::path DiskTier::path_of(const StoredId& id) const {
  return options_.directory / disk_page_name(id);
}

// Before the writer begins: nothing is shared yet.
void DiskTier::scan() {
  std::error_code error;
  std::filesystem::create_directories(options_.directory, error);
  std::filesystem::directory_iterator files(options_.directory, error);
  if (error) {
    log_warning("{}: cannot be used to keep pages of the cache: {}; going on without",
                options_.directory.string(), error.message());
    return;
  }
  is_usable_ = true;
  std::vector<std::pair<int64_t, Entry>> found;  // with the time of the last use
  for (; !error && files != std::filesystem::directory_iterator(); files.increment(error)) {
    const std::string name = files->path().filename().string();
    if (is_partial_name(name)) ::unlink(files->path().c_str());
    if (!is_page_name(name) || found.size() >= limits::kKvPageFiles) continue;
    Result<DiskPageFile> file = DiskPageFile::open(files->path());
    if (!file.is_ok()) {
      if (file.status().code() == StatusCode::kInvalidData) ::unlink(files->path().c_str());
      continue;
    }
    const DiskPageHeader& header = file->header();
    if (disk_page_name(header.page.id) != name) {
      ::unlink(files->path().c_str());
      continue;
    }
    const bool is_ours = header.fingerprint == options_.fingerprint &&
                         header.layout == options_.layout &&
                         int64_t{header.page_tokens} == options_.page_tokens &&
                         header.page.id.group < options_.page_bytes.size() &&
                         header.payload_bytes == options_.page_bytes[header.page.id.group];
    if (!is_ours) continue;
    found.push_back({file->used_ns(),
                     {.page = header.page, .file_bytes = file->file_bytes(), .queued = nullptr}});
  }
  std::ranges::sort(found, {}, [](const auto& each) { return each.first; });
  const std::lock_guard lock(mutex_);
  for (auto& [used, entry] : found) {
    size_bytes_ += entry.file_bytes;
    entries_.push_back(std::move(entry));
    by_id_.emplace(entries_.back().page.id, std::prev(entries_.end()));
  }
  for (const StoredId& id : choose_victims(0))
    ::unlink(path_of(id).c_str());
  dropped_.clear();  // nobody has been told of them
}

bool DiskTier::put(const StoredPage& page, std::span<const std::byte> bytes) {
  if (!is_usable_) return false;
  INGOT_CHECK(page.id.group < options_.page_bytes.size());
  INGOT_CHECK(bytes.size() == options_.page_bytes[page.id.group]);
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_id_.find(page.id);
    if (found != by_id_.end()) {
      if (found->second->page != page) return false;
      entries_.splice(entries_.end(), entries_, found->second);
      return true;
    }
    if (queued_ >= options_.queue_pages || failures_ >= kFailuresInARow) return false;
  }
  // Copied outside the lock: the writer never waits for it, and only this thread adds entries.
  Entry entry{.page = page,
              .file_bytes = bytes.size() + kDiskPageFixedBytes +
                            page.tokens.size() * sizeof(TokenId) + options_.layout.size() +
                            sizeof(uint64_t),
              .queued = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end())};
  if (entry.file_bytes > options_.limit_bytes) return false;
  const std::lock_guard lock(mutex_);
  entries_.push_back(std::move(entry));
  by_id_.emplace(page.id, std::prev(entries_.end()));
  ++queued_;
  queue_.push_back(page.id);
  wake_.notify_one();
  return true;
}

bool DiskTier::load(const StoredPage& page, std::span<std::byte> out) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_id_.find(page.id);
    if (found == by_id_.end()) return false;
    const Entry& entry = *found->second;
    if (entry.page != page) return false;
    entries_.splice(entries_.end(), entries_, found->second);
    if (entry.queued != nullptr) {
      if (entry.queued->size() != out.size()) return false;
      std::ranges::copy(*entry.queued, out.begin());
      return true;
    }
  }
  // The file may vanish meanwhile, by the writer or by hand: then it is gone, no more.
  const Result<DiskPageFile> file = DiskPageFile::open(path_of(page.id));
  if (file.is_ok()) {
    const DiskPageHeader& header = file->header();
    const bool is_right = header.page == page && header.fingerprint == options_.fingerprint &&
                          header.layout == options_.layout &&
                          int64_t{header.page_tokens} == options_.page_tokens &&
                          header.payload_bytes == out.size();
    if (is_right && file->read_payload(out).is_ok()) {
      file->mark_used();
      return true;
    }
  }
  erase(page.id);
  return false;
}

void DiskTier::erase(const StoredId& id) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  remove_entry(found->second);
  queue_.push_back(id);  // the writer removes the file: it knows whether it has just written it
  wake_.notify_one();
}

std::vector<StoredId> DiskTier::take_dropped() {
  const std::lock_guard lock(mutex_);
  return std::exchange(dropped_, {});
}

std::vector<StoredPage> DiskTier::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<StoredPage> pages;
  for (const Entry& entry : entries_)
    pages.push_back(entry.page);
  return pages;
}

void DiskTier::flush() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return queue_.empty() && !is_writing_; });
}

uint64_t DiskTier::size_bytes() const {
  const std::lock_guard lock(mutex_);
  return size_bytes_;
}

size_t DiskTier::pages() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

void DiskTier::write_loop(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (wake_.wait(lock, stop, [&] { return !queue_.empty(); })) {  // also true while stopping
    const StoredId id = queue_.front();
    queue_.pop_front();
    is_writing_ = true;
    lock.unlock();
    write_one(id);
    lock.lock();
    is_writing_ = false;
    if (queue_.empty()) idle_.notify_all();
  }
}

// Makes the file of one page what the index says it is: there, or not there.
void DiskTier::write_one(const StoredId& id) {
  DiskPageHeader header;
  std::shared_ptr<const std::vector<std::byte>> payload;
  std::vector<StoredId> victims;
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_id_.find(id);
    if (found != by_id_.end()) {
      payload = found->second->queued;
      if (payload == nullptr) return;  // written already
      header.page = found->second->page;
      victims = choose_victims(found->second->file_bytes);
    }
  }
  for (const StoredId& victim : victims)
    ::unlink(path_of(victim).c_str());
  if (payload == nullptr) {
    ::unlink(path_of(id).c_str());
    return;
  }
  header.fingerprint = options_.fingerprint;
  header.layout = options_.layout;
  header.page_tokens = static_cast<uint32_t>(options_.page_tokens);
  header.payload_bytes = payload->size();
  header.payload_checksum = checksum64(*payload);
  const Status status = write_disk_page(path_of(id), header, *payload);

  const std::lock_guard lock(mutex_);
  failures_ = status.is_ok() ? 0 : failures_ + 1;
  if (!status.is_ok() && !std::exchange(has_warned_, true))
    log_warning("{}; pages of the cache that do not fit are not kept", status.message());
  const auto found = by_id_.find(id);
  if (found == by_id_.end() || found->second->queued != payload) return;  // erased meanwhile
  if (!status.is_ok()) {
    remove_entry(found->second);
    dropped_.push_back(id);
    return;
  }
  found->second->queued = nullptr;
  --queued_;
  size_bytes_ += found->second->file_bytes;
}

// Takes the least recently used files out of the index until `bytes` more fit. Under the mutex.
std::vector<StoredId> DiskTier::choose_victims(uint64_t bytes) {
  std::vector<StoredId> victims;
  for (auto entry = entries_.begin();
       entry != entries_.end() && size_bytes_ + bytes > options_.limit_bytes;) {
    const auto next = std::next(entry);
    if (entry->queued == nullptr) {
      victims.push_back(entry->page.id);
      dropped_.push_back(entry->page.id);
      remove_entry(entry);
    }
    entry = next;
  }
  return victims;
}

// Under the mutex.
void DiskTier::remove_entry(Entries::iterator entry) {
  if (entry->queued != nullptr)
    --queued_;
  else
    size_bytes_ -= entry->file_bytes;
  by_id_.erase(entry->page.id);
  entries_.erase(entry);
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// The third tier: evicted pages as files of one directory, found again by the next process. A
// thread of its own writes and removes; the engine thread only reads, and when the writer falls
// behind, pages are not kept. A file is believed only after its header, its tokens and its checksum
// have been compared (docs/formats/kv-page.md).
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "engine/page_store.h"

namespace ingot {

struct DiskTierOptions {
  std::filesystem::path directory;  // made where it is missing
  uint64_t limit_bytes = 0;         // of all files of this model together
  size_t queue_pages = 64;          // waiting to be written
  // What the pages depend on: files with another fingerprint, layout or page size are left alone.
  std::array<uint8_t, 32> fingerprint{};  // of the model
  std::string layout;                     // of the cache, e.g. "f16 kv_heads=8 dim=128"
  int64_t page_tokens = 0;
  std::vector<uint64_t> page_bytes;  // [group]
};

// The interface is the engine thread's; the writer shares what stands under the mutex.
class DiskTier final : public PageStore {
 public:
  // Scans the directory. Fails only on options out of range: a directory that cannot be used is a
  // warning, and a tier that keeps nothing.
  static Result<std::unique_ptr<DiskTier>> open(DiskTierOptions options);
  ~DiskTier() override;  // writes what is queued
  DiskTier(const DiskTier&) = delete;
  DiskTier& operator=(const DiskTier&) = delete;

  bool put(const StoredPage& page, std::span<const std::byte> bytes) override;
  bool load(const StoredPage& page, std::span<std::byte> out) override;
  std::vector<StoredId> take_dropped() override;
  std::vector<StoredPage> list() const override;
  void erase(const StoredId& id) override;
  void flush() override;

  uint64_t size_bytes() const;
  size_t pages() const;

 private:
  struct Entry {
    StoredPage page;
    uint64_t file_bytes = 0;
    std::shared_ptr<const std::vector<std::byte>> queued;  // the payload, until it is written
  };
  using Entries = std::list<Entry>;  // least recently used first
  struct IdHash {
    size_t operator()(const StoredId& id) const { return PageKeyHash()(id.key) + id.group; }
  };
  explicit DiskTier(DiskTierOptions options);

  void scan();
  void write_loop(const std::stop_token& stop);
  void write_one(const StoredId& id);
  std::vector<StoredId> choose_victims(uint64_t bytes);
  void remove_entry(Entries::iterator entry);
  std::filesystem::path path_of(const StoredId& id) const;

  const DiskTierOptions options_;
  bool is_usable_ = false;  // set once, by scan()
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::condition_variable idle_;
  // Under the mutex from here on.
  Entries entries_;
  std::unordered_map<StoredId, Entries::iterator, IdHash> by_id_;
  std::deque<StoredId> queue_;  // files to be written or removed: the index says which
  size_t queued_ = 0;           // entries with a payload
  bool is_writing_ = false;
  uint64_t size_bytes_ = 0;  // of the files written
  std::vector<StoredId> dropped_;
  bool has_warned_ = false;
  int failures_ = 0;  // in a row
  // Last: it stops before anything it uses goes away.
  std::jthread writer_;
};

}  // namespace ingot

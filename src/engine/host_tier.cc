// SPDX-License-Identifier: Apache-2.0
#include "engine/host_tier.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ingot {

HostTier::HostTier(uint64_t limit_bytes, PageStore* next)
    : limit_bytes_(limit_bytes), next_(next) {}

bool HostTier::put(const StoredPage& page, std::span<const std::byte> bytes) {
  const auto found = by_id_.find(page.id);
  if (found != by_id_.end()) {
    if (found->second->page != page) return false;  // two prefixes of one key: keep the first
    entries_.splice(entries_.end(), entries_, found->second);
    return true;
  }
  if (bytes.size() > limit_bytes_) return next_ != nullptr && next_->put(page, bytes);
  make_room(bytes.size());
  entries_.push_back({.page = page, .bytes = {bytes.begin(), bytes.end()}});
  by_id_.emplace(page.id, std::prev(entries_.end()));
  size_bytes_ += bytes.size();
  return true;
}

bool HostTier::load(const StoredPage& page, std::span<std::byte> out) {
  const auto found = by_id_.find(page.id);
  if (found == by_id_.end()) return next_ != nullptr && next_->load(page, out);
  const auto entry = found->second;
  if (entry->page != page || entry->bytes.size() != out.size()) return false;
  std::ranges::copy(entry->bytes, out.begin());
  entries_.splice(entries_.end(), entries_, entry);
  return true;
}

std::vector<StoredId> HostTier::take_dropped() {
  std::vector<StoredId> dropped = std::exchange(dropped_, {});
  if (next_ != nullptr) {
    // What the next tier lost may still be here.
    for (const StoredId& id : next_->take_dropped()) {
      if (!by_id_.contains(id)) dropped.push_back(id);
    }
  }
  return dropped;
}

std::vector<StoredPage> HostTier::list() const {
  std::vector<StoredPage> pages;
  if (next_ != nullptr) {
    pages = next_->list();
    std::erase_if(pages, [&](const StoredPage& page) { return by_id_.contains(page.id); });
  }
  for (const Entry& entry : entries_)
    pages.push_back(entry.page);
  return pages;
}

void HostTier::erase(const StoredId& id) {
  const auto found = by_id_.find(id);
  if (found != by_id_.end()) remove(found->second);
  if (next_ != nullptr) next_->erase(id);
}

void HostTier::flush() {
  if (next_ == nullptr) return;
  for (const Entry& entry : entries_) {
    if (next_->put(entry.page, entry.bytes)) continue;
    next_->flush();  // its queue was full
    if (!next_->put(entry.page, entry.bytes)) break;
  }
  next_->flush();
}

void HostTier::make_room(uint64_t bytes) {
  while (size_bytes_ + bytes > limit_bytes_) {
    const auto oldest = entries_.begin();
    if (next_ == nullptr || !next_->put(oldest->page, oldest->bytes))
      dropped_.push_back(oldest->page.id);
    remove(oldest);
  }
}

void HostTier::remove(Entries::iterator entry) {
  size_bytes_ -= entry->bytes.size();
  by_id_.erase(entry->page.id);
  entries_.erase(entry);
}

}  // namespace ingot

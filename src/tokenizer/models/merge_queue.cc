// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/models/merge_queue.h"

#include <algorithm>
#include <functional>

namespace ingot::tok {

namespace {

// Below this a heap stays in the nearest cache. The table of ranks must not cost more than the
// text.
constexpr size_t kLeastSymbols = 2048;
constexpr size_t kRanksPerSymbol = 32;

}  // namespace

MergeQueue::MergeQueue(size_t rank_count, size_t symbol_count)
    : has_buckets_(symbol_count >= kLeastSymbols && symbol_count >= rank_count / kRanksPerSymbol) {
  if (has_buckets_) {
    bucket_of_rank_.assign(rank_count, kNone);
  } else {
    heap_.reserve(symbol_count);
  }
}

MergeQueue::Bucket& MergeQueue::bucket_of(uint32_t rank) {
  uint32_t& index = bucket_of_rank_[rank];
  if (index == kNone) {
    index = static_cast<uint32_t>(buckets_.size());
    buckets_.emplace_back();
  }
  return buckets_[index];
}

void MergeQueue::push(const Candidate& candidate) {
  if (!has_buckets_) {
    heap_.push_back(candidate);
    std::push_heap(heap_.begin(), heap_.end(), ComesLater{});
    return;
  }
  Bucket& bucket = bucket_of(candidate.rank);
  if (bucket.entries.empty()) {
    ranks_.push_back(candidate.rank);
    std::push_heap(ranks_.begin(), ranks_.end(), std::greater<>{});
  }
  push_entry(bucket, {candidate.position, candidate.detail});
}

void MergeQueue::push_entry(Bucket& bucket, const Entry& entry) {
  std::vector<Entry>& entries = bucket.entries;
  const bool is_last = entries.empty() || entries.back().position <= entry.position;
  if (!bucket.is_begun) {
    bucket.is_in_order = bucket.is_in_order && is_last;
    entries.push_back(entry);
  } else if (is_last && !bucket.is_heap) {
    entries.push_back(entry);
  } else {
    if (!bucket.is_heap) {  // entries in order are a heap already
      entries.erase(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(bucket.next));
      bucket.next = 0;
      bucket.is_heap = true;
    }
    entries.push_back(entry);
    std::push_heap(entries.begin(), entries.end(), ComesLater{});
  }
}

MergeQueue::Entry MergeQueue::pop_entry(Bucket& bucket) {
  std::vector<Entry>& entries = bucket.entries;
  if (bucket.is_heap) {
    std::pop_heap(entries.begin(), entries.end(), ComesLater{});
    const Entry entry = entries.back();
    entries.pop_back();
    return entry;
  }
  if (!bucket.is_begun && !bucket.is_in_order) {
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.position < b.position; });
  }
  bucket.is_begun = true;
  return entries[bucket.next++];
}

std::optional<MergeQueue::Candidate> MergeQueue::pop() {
  if (!has_buckets_) {
    if (heap_.empty()) return std::nullopt;
    std::pop_heap(heap_.begin(), heap_.end(), ComesLater{});
    const Candidate candidate = heap_.back();
    heap_.pop_back();
    return candidate;
  }
  if (ranks_.empty()) return std::nullopt;
  const uint32_t rank = ranks_.front();
  Bucket& bucket = bucket_of(rank);
  const Entry entry = pop_entry(bucket);
  if (bucket.next == bucket.entries.size()) {
    bucket = Bucket{};
    std::pop_heap(ranks_.begin(), ranks_.end(), std::greater<>{});
    ranks_.pop_back();
  }
  return Candidate{rank, entry.position, entry.detail};
}

}  // namespace ingot::tok

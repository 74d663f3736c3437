// SPDX-License-Identifier: Apache-2.0
// Candidate merges in the order BPE takes them: lowest rank first, leftmost first among equals. For
// short texts it is a heap. For long ones it keeps a list per rank: positions come almost in order,
// so a text is passed over once for each rank instead of being jumped about in, and time grows with
// the text alone, not with its logarithm and the caches it falls out of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ingot::tok {

// For one text; not thread-safe.
class MergeQueue {
 public:
  struct Candidate {
    uint32_t rank;
    uint32_t position;
    uint32_t detail;  // the caller's own, to tell candidates that are outdated
  };

  // Ranks are below `rank_count`; `symbol_count` is the length of the text.
  MergeQueue(size_t rank_count, size_t symbol_count);

  void push(const Candidate& candidate);
  std::optional<Candidate> pop();

 private:
  struct Entry {
    uint32_t position;
    uint32_t detail;
  };
  // The candidates of one rank. Until the first is taken they are only collected; then they are in
  // order from `next` on, or a heap from the first one on that came too late for its place.
  struct Bucket {
    std::vector<Entry> entries;
    size_t next = 0;
    bool is_in_order = true;
    bool is_begun = false;
    bool is_heap = false;
  };
  struct ComesLater {
    bool operator()(const Candidate& a, const Candidate& b) const {
      return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
    }
    bool operator()(const Entry& a, const Entry& b) const { return a.position > b.position; }
  };
  static constexpr uint32_t kNone = 0xFFFFFFFF;

  static void push_entry(Bucket& bucket, const Entry& entry);
  static Entry pop_entry(Bucket& bucket);
  Bucket& bucket_of(uint32_t rank);

  bool has_buckets_;
  std::vector<Candidate> heap_;           // without buckets
  std::vector<uint32_t> bucket_of_rank_;  // index in buckets_, or kNone
  std::vector<Bucket> buckets_;
  std::vector<uint32_t> ranks_;  // a heap: those whose bucket is not empty
};

}  // namespace ingot::tok

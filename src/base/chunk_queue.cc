// SPDX-License-Identifier: Apache-2.0
#include "base/chunk_queue.h"

#include <algorithm>

#include "base/check.h"

namespace ingot {
namespace {

// A thread that is four times slower than the others still ends with them.
constexpr int64_t kPart = 4;

}  // namespace

void ChunkQueue::reset(int64_t units, int threads) {
  INGOT_DCHECK(threads >= 1 && static_cast<size_t>(threads) <= spans_.size());
  used_ = static_cast<size_t>(threads);
  for (int i = 0; i < threads; ++i) {
    Span& span = spans_[static_cast<size_t>(i)];
    span.next.store(units * i / threads, std::memory_order_relaxed);
    span.end = units * (i + 1) / threads;
  }
}

Chunk ChunkQueue::take_from(Span& span) {
  int64_t begin = span.next.load(std::memory_order_relaxed);
  while (begin < span.end) {
    const int64_t end = begin + std::max<int64_t>(1, (span.end - begin) / kPart);
    if (span.next.compare_exchange_weak(begin, end, std::memory_order_relaxed)) return {begin, end};
  }
  return {};
}

ChunkQueue::Span* ChunkQueue::fullest() {
  Span* best = nullptr;
  int64_t most = 0;
  for (size_t i = 0; i < used_; ++i) {
    const int64_t left = spans_[i].end - spans_[i].next.load(std::memory_order_relaxed);
    if (left <= most) continue;
    most = left;
    best = &spans_[i];
  }
  return best;
}

Chunk ChunkQueue::take(int thread) {
  if (const Chunk own = take_from(spans_[static_cast<size_t>(thread)]); !own.is_empty()) return own;
  while (Span* victim = fullest()) {
    if (const Chunk stolen = take_from(*victim); !stolen.is_empty()) return stolen;
  }
  return {};
}

}  // namespace ingot

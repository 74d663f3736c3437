// SPDX-License-Identifier: Apache-2.0
// Deals out [0, units) to threads in contiguous chunks. Each thread owns a contiguous span, always
// the same for the same numbers, and works through it front to back, so that memory it touched
// first stays near it; who has finished takes from whoever has most left. Chunks shrink towards the
// end: few calls at first, little waiting at last.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace ingot {

struct Chunk {
  int64_t begin = 0;
  int64_t end = 0;
  bool is_empty() const { return begin >= end; }
};

// reset() is for one thread while no other takes; take() is thread-safe.
class ChunkQueue {
 public:
  explicit ChunkQueue(int threads) : spans_(static_cast<size_t>(threads)) {}

  // `threads` at most as many as at construction.
  void reset(int64_t units, int threads);
  // Empty when nothing is left for anyone.
  Chunk take(int thread);

 private:
  struct alignas(64) Span {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  static Chunk take_from(Span& span);
  Span* fullest();

  std::vector<Span> spans_;
  size_t used_ = 0;
};

}  // namespace ingot

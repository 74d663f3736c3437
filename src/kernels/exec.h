// SPDX-License-Identifier: Apache-2.0
// Where ops run: handed down from the engine to every op. Today a thread pool; the work is cut so
// that no output depends on how many threads there are.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/thread_pool.h"

namespace ingot {

// Borrowed; one op at a time.
class Exec {
 public:
  explicit Exec(ThreadPool& pool) : pool_(&pool) {}
  int threads() const { return pool_->active(); }
  // Where range i of as many as threads() lies best, with first touch by the thread that reads it
  // later; -1: anywhere.
  int node_of(int thread) const { return pool_->node_of(thread); }

  // Around a forward pass: threads stay awake until the result goes. A step with prompts may use
  // another number of them than one of single tokens (--threads-batch).
  [[nodiscard]] ThreadPool::Step begin_step(bool has_prompts) const {
    const ThreadOptions& options = pool_->options();
    return with_threads(has_prompts ? options.threads_batch : options.threads);
  }
  [[nodiscard]] ThreadPool::Step with_threads(int threads) const { return {*pool_, threads}; }

  // function(begin, end) over [0, count) in one contiguous range per thread, each a multiple of
  // `grain` (but the last). Small work stays on the calling thread.
  template <class Function>
  void for_ranges(int64_t count, int64_t grain, Function&& function) const {
    if (count <= 0) return;
    const int64_t units = (count + grain - 1) / grain;
    const int64_t threads = std::min<int64_t>(pool_->active(), units);
    if (threads <= 1) {
      function(int64_t{0}, count);
      return;
    }
    pool_->run(static_cast<int>(threads), [&](int thread) {
      const int64_t begin = units * thread / threads * grain;
      const int64_t end = std::min(count, units * (thread + 1) / threads * grain);
      if (begin < end) function(begin, end);
    });
  }

  // The same range in several calls per thread, which shrink: who is done helps who is not. For ops
  // whose outputs do not depend on the cut, and whose calls cost little beside their work. Every
  // thread begins where for_ranges would begin it.
  template <class Function>
  void for_chunks(int64_t count, int64_t grain, Function&& function) const {
    if (count <= 0) return;
    const int64_t units = (count + grain - 1) / grain;
    const auto threads = static_cast<int>(std::min<int64_t>(pool_->active(), units));
    if (threads <= 1) {
      function(int64_t{0}, count);
      return;
    }
    ChunkQueue& queue = pool_->chunks();
    queue.reset(units, threads);
    pool_->run(threads, [&](int thread) {
      for (Chunk chunk = queue.take(thread); !chunk.is_empty(); chunk = queue.take(thread))
        function(chunk.begin * grain, std::min(count, chunk.end * grain));
    });
  }

 private:
  ThreadPool* pool_;
};

}  // namespace ingot

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
  int threads() const { return pool_->size(); }

  // function(begin, end) over [0, count) in one contiguous range per thread, each a multiple of
  // `grain` (but the last). Small work stays on the calling thread.
  template <class Function>
  void for_ranges(int64_t count, int64_t grain, Function&& function) const {
    if (count <= 0) return;
    const int64_t units = (count + grain - 1) / grain;
    const int64_t threads = std::min<int64_t>(pool_->size(), units);
    if (threads <= 1) {
      function(int64_t{0}, count);
      return;
    }
    pool_->run([&](int thread) {
      if (thread >= threads) return;
      const int64_t begin = units * thread / threads * grain;
      const int64_t end = std::min(count, units * (thread + 1) / threads * grain);
      if (begin < end) function(begin, end);
    });
  }

 private:
  ThreadPool* pool_;
};

}  // namespace ingot

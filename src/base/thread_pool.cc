// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <chrono>

#include "base/cpu.h"

namespace ingot {
namespace {

// Long enough to span the gap between two ops of a step, short enough not to burn an idle core.
constexpr auto kSpinTime = std::chrono::microseconds(200);

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until `is_done()` or the spin time is over; says whether it is done.
template <class Done>
bool spin_until(Done&& is_done) {
  const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < 64; ++i) {
      if (is_done()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  if (threads <= 0) threads = usable_cores();
  for (int i = 0; i + 1 < threads; ++i) {
    workers_.emplace_back([this, i] { work(i); });
  }
}

ThreadPool::~ThreadPool() {
  is_stopping_.store(true);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  workers_.clear();  // joins, while the members they use still live
}

void ThreadPool::run_task(const ThreadTask& task) {
  if (!workers_.empty()) {
    task_ = &task;
    pending_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
  }
  task(size() - 1);
  if (workers_.empty()) return;
  const auto is_done = [&] { return pending_.load(std::memory_order_acquire) == 0; };
  while (!spin_until(is_done)) {
    if (const int left = pending_.load(std::memory_order_acquire); left != 0) pending_.wait(left);
  }
}

uint32_t ThreadPool::wait_for_epoch_after(uint32_t seen) {
  const auto is_new = [&] { return epoch_.load(std::memory_order_acquire) != seen; };
  if (!spin_until(is_new)) epoch_.wait(seen, std::memory_order_acquire);
  return epoch_.load(std::memory_order_acquire);
}

void ThreadPool::work(int thread) {
  uint32_t seen = 0;
  while (true) {
    const uint32_t next = wait_for_epoch_after(seen);
    if (next == seen) continue;  // woken for nothing
    seen = next;
    if (is_stopping_.load()) return;
    (*task_)(thread);
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) pending_.notify_one();
  }
}

}  // namespace ingot

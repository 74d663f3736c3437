// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <algorithm>
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

ThreadPool::ThreadPool(int threads)
    : shares_(static_cast<size_t>(std::max(threads > 0 ? threads : usable_cores(), 1)) - 1) {
  for (size_t i = 0; i < shares_.size(); ++i) {
    workers_.emplace_back([this, i] { work(i); });
  }
}

ThreadPool::~ThreadPool() {
  is_stopping_.store(true);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  workers_.clear();  // joins, while the members they use still live
}

// A worker that is late for several runs finds each of their shares claimed.
bool ThreadPool::claim(Share& share, uint32_t epoch) {
  uint32_t before = epoch - 1;
  return share.claimed.compare_exchange_strong(before, epoch, std::memory_order_acq_rel);
}

void ThreadPool::run_task(const ThreadTask& task) {
  task_ = &task;
  const uint32_t epoch = epoch_.fetch_add(1, std::memory_order_release) + 1;
  if (!shares_.empty()) epoch_.notify_all();
  task(size() - 1);
  for (size_t i = 0; i < shares_.size(); ++i)
    finish_share(i, epoch, task);
}

void ThreadPool::finish_share(size_t worker, uint32_t epoch, const ThreadTask& task) {
  Share& share = shares_[worker];
  if (claim(share, epoch)) return task(static_cast<int>(worker));
  while (!spin_until([&] { return share.done.load(std::memory_order_acquire) == epoch; })) {
    if (const uint32_t done = share.done.load(std::memory_order_acquire); done != epoch)
      share.done.wait(done);
  }
}

uint32_t ThreadPool::wait_for_epoch_after(uint32_t seen) {
  const auto is_new = [&] { return epoch_.load(std::memory_order_acquire) != seen; };
  if (!spin_until(is_new)) epoch_.wait(seen, std::memory_order_acquire);
  return epoch_.load(std::memory_order_acquire);
}

void ThreadPool::work(size_t worker) {
  Share& share = shares_[worker];
  uint32_t seen = 0;
  while (true) {
    const uint32_t next = wait_for_epoch_after(seen);
    if (next == seen) continue;  // woken for nothing
    seen = next;
    if (is_stopping_.load()) return;
    if (!claim(share, seen)) continue;  // the caller was faster
    (*task_)(static_cast<int>(worker));
    share.done.store(seen, std::memory_order_release);
    share.done.notify_one();
  }
}

}  // namespace ingot

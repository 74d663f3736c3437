// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/cpu.h"
#include "base/cpu_limits.h"

namespace ingot {
namespace {

using Clock = std::chrono::steady_clock;

// Outside a step: long enough for the next step to find them awake, short enough not to burn a
// core.
constexpr auto kIdleSpin = std::chrono::microseconds(200);
// Inside one, who waits longer than this lets other programs run now and then.
constexpr auto kPoliteAfter = std::chrono::microseconds(200);
// A caller that waits so long waits for a thread that has lost its core, or for a disk.
constexpr auto kCallerSpin = std::chrono::milliseconds(2);
constexpr auto kCallerSleep = std::chrono::microseconds(50);
constexpr int kTicketBits = 16;  // of the number of workers

int workers_of(uint64_t ticket) {
  return static_cast<int>(ticket & ((1u << kTicketBits) - 1));
}

// Whether a worker is one of so many threads; the last of them is the caller.
bool has_part(int worker, int threads) {
  return worker + 1 < threads;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until `is_done()`, or until `is_enough(time spent)`; says whether it is done.
template <class Done, class Enough>
bool spin_until(bool is_crowded, Done&& is_done, Enough&& is_enough) {
  const Clock::time_point start = Clock::now();
  while (true) {
    for (int i = 0; i < 64; ++i) {
      if (is_done()) return true;
      relax();
    }
    const Clock::duration spent = Clock::now() - start;
    if (is_enough(spent)) return false;
    if (is_crowded || spent > kPoliteAfter) sched_yield();
  }
}

ThreadOptions without_zeros(const ThreadOptions& options, int cores) {
  const int threads = options.threads > 0 ? options.threads : cores;
  return {threads, options.threads_batch > 0 ? options.threads_batch : threads, options.numa};
}

}  // namespace

ThreadPool::ThreadPool(const ThreadOptions& options)
    : cores_(usable_cores()),
      options_(without_zeros(options, cores_)),
      shares_(static_cast<size_t>(std::max(options_.threads, options_.threads_batch)) - 1),
      chunks_(static_cast<int>(shares_.size()) + 1),
      active_(static_cast<int>(shares_.size()) + 1) {
  if (options_.numa == NumaMode::kAuto && !shares_.empty())
    nodes_ = numa_nodes(affinity_cpus(), "/");
  if (!nodes_.empty()) node_indexes_ = place_threads(static_cast<int>(shares_.size()) + 1, nodes_);
  for (size_t i = 0; i < shares_.size(); ++i) {
    workers_.emplace_back([this, i] {
      if (!nodes_.empty()) pin_this_thread(nodes_[node_indexes_[i]].cpus);
      work(i);
    });
  }
}

ThreadPool::~ThreadPool() {
  is_stopping_.store(true);
  set_active(size());
  ticket_.fetch_add(uint64_t{1} << kTicketBits);
  wake_sleepers();
  workers_.clear();  // joins, while the members they use still live
}

ThreadPool::Step::Step(ThreadPool& pool, int threads) : pool_(pool) {
  pool_.set_active(std::clamp(threads, 1, pool_.size()));
  pool_.is_in_step_.store(true, std::memory_order_relaxed);
  if (pool_.nodes_.empty()) return;
  cpus_before_ = affinity_cpus();
  pin_this_thread(pool_.nodes_[pool_.node_indexes_.back()].cpus);
}

ThreadPool::Step::~Step() {
  pool_.is_in_step_.store(false, std::memory_order_relaxed);
  if (!cpus_before_.empty()) pin_this_thread(cpus_before_);
}

int ThreadPool::node_of(int share) const {
  return nodes_.empty() ? -1 : nodes_[node_indexes_[static_cast<size_t>(share)]].id;
}

void ThreadPool::set_active(int threads) {
  if (active_.exchange(threads) < threads) active_.notify_all();
}

// Tickets only grow: a worker that is late for several runs finds each of their shares claimed.
bool ThreadPool::claim(Share& share, uint64_t ticket) {
  uint64_t before = share.claimed.load(std::memory_order_relaxed);
  return before < ticket &&
         share.claimed.compare_exchange_strong(before, ticket, std::memory_order_acq_rel);
}

void ThreadPool::run_task(int shares, const ThreadTask& task) {
  INGOT_DCHECK(shares >= 1 && shares <= active());
  const auto workers = static_cast<size_t>(shares - 1);
  if (workers == 0) return task(0);
  task_ = &task;
  const uint64_t before = ticket_.load(std::memory_order_relaxed) >> kTicketBits;
  const uint64_t ticket = ((before + 1) << kTicketBits) | workers;
  ticket_.store(ticket);
  wake_sleepers();
  task(shares - 1);
  for (size_t i = 0; i < workers; ++i)
    finish_share(i, ticket, task);
}

void ThreadPool::finish_share(size_t worker, uint64_t ticket, const ThreadTask& task) {
  Share& share = shares_[worker];
  const auto is_done = [&] { return share.done.load(std::memory_order_acquire) == ticket; };
  if (is_done()) return;
  if (claim(share, ticket)) return task(static_cast<int>(worker));
  const auto is_enough = [](Clock::duration spent) { return spent > kCallerSpin; };
  while (!spin_until(is_crowded(), is_done, is_enough))
    std::this_thread::sleep_for(kCallerSleep);
}

uint64_t ThreadPool::wait_for_ticket_after(uint64_t seen, int index) {
  const auto is_new = [&] { return ticket_.load(std::memory_order_acquire) != seen; };
  const auto is_enough = [&](Clock::duration spent) {
    return spent > kIdleSpin &&
           (!is_in_step_.load(std::memory_order_relaxed) || !has_part(index, active()));
  };
  if (!spin_until(is_crowded(), is_new, is_enough)) sleep_until_ticket_after(seen);
  return ticket_.load(std::memory_order_acquire);
}

// Either this sees the new ticket, or the caller, who stored it before looking, sees a sleeper:
// both orders are total (seq_cst).
void ThreadPool::sleep_until_ticket_after(uint64_t seen) {
  const uint32_t wakes = wakes_.load();
  sleepers_.fetch_add(1);
  if (ticket_.load() == seen) wakes_.wait(wakes);
  sleepers_.fetch_sub(1);
}

void ThreadPool::wake_sleepers() {
  if (sleepers_.load() == 0) return;
  wakes_.fetch_add(1);
  wakes_.notify_all();
}

void ThreadPool::work(size_t worker) {
  Share& share = shares_[worker];
  const int index = static_cast<int>(worker);
  uint64_t seen = 0;
  while (true) {
    for (int threads = active_.load(); !has_part(index, threads); threads = active_.load())
      active_.wait(threads);
    const uint64_t next = wait_for_ticket_after(seen, index);
    if (is_stopping_.load()) return;
    if (next == seen) continue;  // woken for nothing
    seen = next;
    if (index >= workers_of(seen) || !claim(share, seen)) continue;  // the caller was faster
    (*task_)(index);
    share.done.store(seen, std::memory_order_release);
  }
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// The threads that kernels run on. run() cuts one function into a share per thread and returns when
// all are done. Inside a Step workers spin between two runs, so a barrier costs a microsecond and
// no thread falls asleep half-way through a forward pass; outside they soon sleep, so an idle
// program costs nothing. A share whose worker has not begun is taken over by the caller: on a busy
// machine a step never waits for a thread that the system has not scheduled.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/chunk_queue.h"
#include "base/numa.h"

namespace ingot {

// A borrowed callable `void(int thread)`, without the allocation of std::function.
class ThreadTask {
 public:
  template <class Function>
  explicit ThreadTask(Function& function)
      : context_(const_cast<void*>(static_cast<const void*>(&function))),  // as const as Function
        call_([](void* context, int thread) { (*static_cast<Function*>(context))(thread); }) {}
  void operator()(int thread) const { call_(context_, thread); }

 private:
  void* context_;
  void (*call_)(void*, int);
};

// Both count the caller.
struct ThreadOptions {
  int threads = 0;        // of a step of single tokens; 0: one per core that this process may use
  int threads_batch = 0;  // of a step with prompts; 0: as many
  NumaMode numa = NumaMode::kAuto;
};

// run() is for one caller at a time (the engine thread); shares run on all threads at once.
class ThreadPool {
 public:
  explicit ThreadPool(int threads = 0) : ThreadPool(ThreadOptions{.threads = threads}) {}
  explicit ThreadPool(const ThreadOptions& options);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }
  // How many take part in the next run: all, or what the last Step asked for.
  int active() const { return active_.load(std::memory_order_relaxed); }

  const ThreadOptions& options() const { return options_; }  // without zeros
  // The memory node that a share of a run with all threads stays on, for who lays out its data; -1:
  // threads are not bound to nodes. The caller is bound while a Step lives.
  int node_of(int share) const;

  // While one lives, workers stay awake. Taken around a forward pass by the thread that calls
  // run(); `threads` take part from now on, at most size(), and the others sleep. Not nested.
  class Step {
   public:
    Step(ThreadPool& pool, int threads);
    ~Step();
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    ThreadPool& pool_;
    std::vector<int> cpus_before_;  // of the caller, where it was bound
  };

  // Calls function(share) once for each share in [0, active()), the last on the calling thread.
  template <class Function>
  void run(Function&& function) {
    run(active(), function);
  }
  // The same with fewer: shares [0, shares), at most active().
  template <class Function>
  void run(int shares, Function&& function) {
    ThreadTask task(function);
    run_task(shares, task);
  }

  // For the one run at a time that deals out chunks; see Exec::for_chunks.
  ChunkQueue& chunks() { return chunks_; }

 private:
  // A worker's share of the current run, on a cache line of its own. Both hold tickets.
  struct alignas(64) Share {
    std::atomic<uint64_t> claimed{0};  // by its worker or by the caller, whoever came first
    std::atomic<uint64_t> done{0};     // by its worker; shares that the caller took do not matter
  };

  void run_task(int shares, const ThreadTask& task);
  void finish_share(size_t worker, uint64_t ticket, const ThreadTask& task);
  void set_active(int threads);
  void work(size_t worker);
  uint64_t wait_for_ticket_after(uint64_t seen, int index);
  void sleep_until_ticket_after(uint64_t seen);
  void wake_sleepers();
  bool is_crowded() const { return active() > cores_; }
  static bool claim(Share& share, uint64_t ticket);

  const int cores_;  // with more threads than these, whoever waits makes room at once
  const ThreadOptions options_;
  std::vector<NumaNode> nodes_;       // empty: threads go where the system likes
  std::vector<size_t> node_indexes_;  // of each share
  std::vector<Share> shares_;         // one per worker
  ChunkQueue chunks_;
  // Read only by whoever claimed a share of the current run: run() cannot return before that is
  // done.
  const ThreadTask* task_ = nullptr;
  // Which run it is, and in the low bits how many workers take part: one word, so that a late
  // worker never joins a run that has no share for it.
  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<int> active_;
  std::atomic<bool> is_in_step_{false};
  std::atomic<bool> is_stopping_{false};
  std::atomic<int> sleepers_{0};
  std::atomic<uint32_t> wakes_{0};  // what sleepers wait on; a plain futex, unlike 64 bits
  std::vector<std::jthread> workers_;
};

}  // namespace ingot

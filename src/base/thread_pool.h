// SPDX-License-Identifier: Apache-2.0
// The threads that kernels run on. run() cuts one function into a share per thread and returns when
// all are done; between two calls workers spin for a short while before they sleep, so a barrier
// inside a forward pass costs a microsecond and an idle program costs nothing. A share whose worker
// has not begun is taken over by the caller: on a busy machine a step never waits for a thread that
// the system has not scheduled.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace ingot {

// A borrowed callable `void(int thread)`, without the allocation of std::function.
class ThreadTask {
 public:
  template <class Function>
  explicit ThreadTask(Function& function)
      : context_(&function),
        call_([](void* context, int thread) { (*static_cast<Function*>(context))(thread); }) {}
  void operator()(int thread) const { call_(context_, thread); }

 private:
  void* context_;
  void (*call_)(void*, int);
};

// run() is for one caller at a time (the engine thread); shares run on all threads at once.
class ThreadPool {
 public:
  // `threads` counts the caller; 0 means one per core that this process may use.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls function(share) once for each share in [0, size()), the last on the calling thread.
  template <class Function>
  void run(Function&& function) {
    ThreadTask task(function);
    run_task(task);
  }

 private:
  // A worker's share of the current run, on a cache line of its own. Both count runs (epochs).
  struct alignas(64) Share {
    std::atomic<uint32_t> claimed{0};  // by its worker or by the caller, whoever came first
    std::atomic<uint32_t> done{0};     // by its worker; shares that the caller took do not matter
  };

  void run_task(const ThreadTask& task);
  void finish_share(size_t worker, uint32_t epoch, const ThreadTask& task);
  void work(size_t worker);
  uint32_t wait_for_epoch_after(uint32_t seen);
  static bool claim(Share& share, uint32_t epoch);

  std::vector<Share> shares_;  // one per worker
  std::vector<std::jthread> workers_;
  // Read only by whoever claimed a share of the current run: run() cannot return before that is
  // done.
  const ThreadTask* task_ = nullptr;
  alignas(64) std::atomic<uint32_t> epoch_{0};
  std::atomic<bool> is_stopping_{false};
};

}  // namespace ingot

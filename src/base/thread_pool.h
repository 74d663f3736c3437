// SPDX-License-Identifier: Apache-2.0
// The threads that kernels run on. run() hands one function to every thread and returns when all
// are done; between two calls workers spin for a short while before they sleep, so a barrier inside
// a forward pass costs a microsecond and an idle program costs nothing.
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

// run() is for one caller at a time (the engine thread); the function runs on all threads at once.
class ThreadPool {
 public:
  // `threads` counts the caller; 0 means one per core that this process may use.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls function(thread) for thread in [0, size()), the last on the calling thread.
  template <class Function>
  void run(Function&& function) {
    ThreadTask task(function);
    run_task(task);
  }

 private:
  void run_task(const ThreadTask& task);
  void work(int thread);
  uint32_t wait_for_epoch_after(uint32_t seen);

  std::vector<std::jthread> workers_;
  const ThreadTask* task_ = nullptr;
  alignas(64) std::atomic<uint32_t> epoch_{0};
  alignas(64) std::atomic<int> pending_{0};
  std::atomic<bool> is_stopping_{false};
};

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// The engine thread: owns an EngineCore, takes requests and cancellations from a queue between two
// steps, and sleeps while there is nothing to do. Whoever submits hears back through the sink.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.h"
#include "engine/engine_core.h"

namespace ingot {

// Thread-safe.
class Engine {
 public:
  // At most `max_queued` requests that have not ended at a time; submit() refuses more.
  static Result<std::unique_ptr<Engine>> create(std::shared_ptr<const Model> model,
                                                const EngineOptions& options,
                                                int64_t max_queued = int64_t{1} << 20);
  // Requests that still run end with kCancelled.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Queues the request. A request that cannot run is told so through the sink's on_end(), like any
  // other failure; kResourceExhausted here means that the queue is full.
  Result<RequestId> submit(EngineRequest request, std::shared_ptr<RequestSink> sink);
  // The request ends before the next step. Unknown and ended ids are ignored.
  void cancel(RequestId id);
  // From the next step on nothing is computed for it, until resume(). Unknown and ended ids are
  // ignored.
  void pause(RequestId id);
  void resume(RequestId id);
  // Before the next step: see EngineCore.
  void reset_prefixes();
  EngineStats stats() const;        // as of the last step
  EngineProgress progress() const;  // see TextEngine
  Status lost() const;              // see TextEngine

  int64_t context() const { return core_->context(); }
  int threads() const { return core_->threads(); }
  const EngineOptions& options() const { return core_->options(); }
  uint64_t cache_bytes() const { return static_cast<uint64_t>(core_->cache().size_bytes()); }

 private:
  struct Message {
    enum class Kind : uint8_t { kSubmit, kCancel, kPause, kResume, kResetPrefixes };
    Kind kind;
    RequestId id = 0;
    EngineRequest request = {};                   // kSubmit
    std::shared_ptr<RequestSink> sink = nullptr;  // kSubmit
  };
  class Counted;
  static constexpr int64_t kAsleep = -1;

  Engine(std::unique_ptr<EngineCore> core, int64_t max_queued);
  void run(const std::stop_token& stop);
  void send(Message message);
  void take_messages(const std::stop_token& stop);
  void wait_for_work(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);
  void handle(Message& message);

  std::unique_ptr<EngineCore> core_;
  const int64_t max_queued_;
  // Written by the engine thread (has_work_ also by those that send), read by anybody.
  std::atomic<int64_t> rounds_ = 0;
  std::atomic<int64_t> round_began_ = kAsleep;  // steady clock, nanoseconds
  std::atomic<bool> has_work_ = false;
  std::atomic<bool> is_lost_ = false;  // then the core's status stays as it is
  mutable std::mutex mutex_;
  std::condition_variable_any has_message_;
  std::vector<Message> inbox_;  // under the mutex
  int64_t queued_ = 0;          // under the mutex
  EngineStats stats_;           // under the mutex
  RequestId next_id_ = 1;       // under the mutex
  std::jthread thread_;         // last: it uses all of the above
};

}  // namespace ingot

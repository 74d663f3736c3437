// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include <chrono>
#include <utility>

namespace ingot {
namespace {

Instant now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

}  // namespace

// Passes everything on and tells the engine when the request has ended.
class Engine::Counted final : public RequestSink {
 public:
  Counted(Engine& engine, std::shared_ptr<RequestSink> sink)
      : engine_(&engine), sink_(std::move(sink)) {}
  void on_prompt(const PromptReport& report) override { sink_->on_prompt(report); }
  bool on_token(int32_t choice, TokenId id, const PositionLogprobs* logprobs) override {
    return sink_->on_token(choice, id, logprobs);
  }
  void on_finish(int32_t choice, FinishReason reason) override { sink_->on_finish(choice, reason); }
  void on_end(const Status& status) override {
    {
      const std::scoped_lock lock(engine_->mutex_);
      --engine_->queued_;
    }
    sink_->on_end(status);
  }

 private:
  Engine* engine_;
  std::shared_ptr<RequestSink> sink_;
};

Result<std::unique_ptr<Engine>> Engine::create(std::shared_ptr<const Model> model,
                                               const EngineOptions& options, int64_t max_queued) {
  INGOT_TRY(std::unique_ptr<EngineCore> core, EngineCore::create(std::move(model), options));
  return std::unique_ptr<Engine>(new Engine(std::move(core), max_queued));
}

Engine::Engine(std::unique_ptr<EngineCore> core, int64_t max_queued)
    : core_(std::move(core)),
      max_queued_(max_queued),
      stats_(core_->stats()),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Engine::~Engine() {
  thread_.request_stop();
  thread_.join();
  core_.reset();  // tells the sinks of what still ran, while the members they use still live
  for (const Message& message : std::exchange(inbox_, {})) {
    if (message.sink != nullptr) message.sink->on_end(Status::cancelled("the engine has stopped"));
  }
}

Result<RequestId> Engine::submit(EngineRequest request, std::shared_ptr<RequestSink> sink) {
  RequestId id = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (queued_ >= max_queued_) {
      return Status::resource_exhausted("{} requests wait already; try again in a moment", queued_);
    }
    ++queued_;
    id = next_id_++;
    inbox_.push_back({id, std::move(request), std::make_shared<Counted>(*this, std::move(sink))});
  }
  has_message_.notify_one();
  return id;
}

void Engine::cancel(RequestId id) {
  {
    const std::scoped_lock lock(mutex_);
    inbox_.push_back({id, {}, nullptr});
  }
  has_message_.notify_one();
}

EngineStats Engine::stats() const {
  const std::scoped_lock lock(mutex_);
  return stats_;
}

void Engine::take_messages(const std::stop_token& stop) {
  std::vector<Message> messages;
  {
    std::unique_lock lock(mutex_);
    stats_ = core_->stats();
    if (!core_->has_work()) has_message_.wait(lock, stop, [&] { return !inbox_.empty(); });
    messages = std::exchange(inbox_, {});
  }
  for (Message& message : messages) {
    if (message.sink == nullptr) {
      core_->cancel(message.id);
      continue;
    }
    const Status status = core_->add(message.id, std::move(message.request), message.sink, now());
    if (!status.is_ok()) message.sink->on_end(status);
  }
}

void Engine::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    take_messages(stop);
    core_->step(now());
  }
  core_->save_prefixes();
}

}  // namespace ingot

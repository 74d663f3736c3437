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
  void on_embedding(std::span<const float> embedding) override { sink_->on_embedding(embedding); }
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
  INGOT_TRY(lost());
  RequestId id = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (queued_ >= max_queued_) {
      return Status::resource_exhausted("{} requests wait already; try again in a moment", queued_);
    }
    ++queued_;
    id = next_id_++;
    inbox_.push_back({Message::Kind::kSubmit, id, std::move(request),
                      std::make_shared<Counted>(*this, std::move(sink))});
    has_work_ = true;
  }
  has_message_.notify_one();
  return id;
}

void Engine::send(Message message) {
  {
    const std::scoped_lock lock(mutex_);
    inbox_.push_back(std::move(message));
    has_work_ = true;
  }
  has_message_.notify_one();
}

void Engine::cancel(RequestId id) {
  send({.kind = Message::Kind::kCancel, .id = id});
}

void Engine::pause(RequestId id) {
  send({.kind = Message::Kind::kPause, .id = id});
}

void Engine::resume(RequestId id) {
  send({.kind = Message::Kind::kResume, .id = id});
}

void Engine::reset_prefixes() {
  send({.kind = Message::Kind::kResetPrefixes});
}

EngineStats Engine::stats() const {
  const std::scoped_lock lock(mutex_);
  EngineStats stats = stats_;
  stats.requests = queued_;
  return stats;
}

Status Engine::lost() const {
  return is_lost_ ? core_->lost() : Status::ok();
}

EngineProgress Engine::progress() const {
  EngineProgress progress;
  // In this order: a step that began is not taken for one that is done already.
  const int64_t began = round_began_;
  progress.steps = rounds_;
  progress.has_work = has_work_;
  if (began != kAsleep)
    progress.step_began = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(began));
  return progress;
}

void Engine::take_messages(const std::stop_token& stop) {
  std::vector<Message> messages;
  {
    std::unique_lock lock(mutex_);
    stats_ = core_->stats();
    wait_for_work(lock, stop);
    has_work_ = true;
    round_began_ = now().count();
    messages = std::exchange(inbox_, {});
  }
  for (Message& message : messages)
    handle(message);
}

// Until there is a message, a step to take, or a paused request runs out of time.
void Engine::wait_for_work(std::unique_lock<std::mutex>& lock, const std::stop_token& stop) {
  if (core_->can_step() || !inbox_.empty()) return;
  round_began_ = kAsleep;
  has_work_ = false;
  const auto has_message = [&] { return !inbox_.empty(); };
  if (const Instant deadline = core_->next_deadline(); deadline != kNever) {
    const std::chrono::steady_clock::time_point until(deadline);
    has_message_.wait_until(lock, stop, until, has_message);
  } else {
    has_message_.wait(lock, stop, has_message);
  }
}

void Engine::handle(Message& message) {
  switch (message.kind) {
    case Message::Kind::kSubmit: {
      const Status status = core_->add(message.id, std::move(message.request), message.sink, now());
      if (!status.is_ok()) message.sink->on_end(status);
      return;
    }
    case Message::Kind::kCancel:
      return core_->cancel(message.id);
    case Message::Kind::kPause:
      return core_->pause(message.id);
    case Message::Kind::kResume:
      return core_->resume(message.id);
    case Message::Kind::kResetPrefixes:
      return core_->reset_prefixes();
  }
}

void Engine::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    take_messages(stop);
    core_->step(now());
    if (!is_lost_ && !core_->lost().is_ok()) is_lost_ = true;
    ++rounds_;
  }
  round_began_ = kAsleep;
  if (!is_lost_) core_->save_prefixes();
}

}  // namespace ingot

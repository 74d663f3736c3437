// SPDX-License-Identifier: Apache-2.0
// Between the engine thread and a reader: turns a request's tokens into text, ends answers at stop
// strings, and queues events for whoever holds the stream.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/stop_strings.h"
#include "engine/request.h"
#include "ingot/engine.h"
#include "tokenizer/tokenizer.h"

namespace ingot {

struct TextSinkOptions {
  std::shared_ptr<const Tokenizer> tokenizer;  // null: events have no text
  std::vector<std::string> stop;
  bool include_stop = false;
  bool skip_special = true;
  int32_t n = 1;
  int32_t made = 1;             // answers the engine makes: best_of
  bool hides_logprobs = false;  // they were asked for by best_of alone
};

// Engine thread in, one reader out.
class TextSink final : public RequestSink {
 public:
  explicit TextSink(TextSinkOptions options);

  void on_prompt(const PromptReport& report) override;
  bool on_token(int32_t choice, TokenId id, const PositionLogprobs* logprobs) override;
  void on_embedding(std::span<const float> embedding) override;
  void on_finish(int32_t choice, FinishReason reason) override;
  void on_end(const Status& status) override;

  std::optional<TextEvent> next();
  bool wait_for(std::chrono::milliseconds time);
  std::optional<TextEvent> try_next();
  bool is_over() const;
  bool has_ended() const;
  void notify(std::function<void()> wake);  // empty: nobody
  Status status() const;

 private:
  struct Answer {
    std::optional<TextDecoder> decoder;
    StopStrings stops;
    double logprob = 0;  // sum over its tokens
    int64_t tokens = 0;
    std::vector<TextEvent> events;  // kept back while the best are not known
  };
  std::string stopped_text(const Answer& answer) const;
  void push(TextEvent event);
  std::optional<TextEvent> take_first();  // under the mutex
  void tell_best();

  const TextSinkOptions options_;
  const std::chrono::steady_clock::time_point submitted_ = std::chrono::steady_clock::now();
  std::vector<Answer> answers_;  // engine thread only
  mutable std::mutex mutex_;
  std::condition_variable has_event_;
  std::deque<TextEvent> events_;  // under the mutex
  bool is_over_ = false;          // under the mutex
  std::function<void()> wake_;    // under the mutex, also while it is called
  Status status_;                 // under the mutex
};

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "api/text_sink.h"

#include <algorithm>
#include <numeric>

namespace ingot {

TextSink::TextSink(TextSinkOptions options) : options_(std::move(options)) {
  for (int32_t i = 0; i < options_.made; ++i) {
    answers_.push_back({.decoder = {}, .stops = StopStrings(options_.stop), .events = {}});
    if (options_.tokenizer != nullptr)
      answers_.back().decoder.emplace(*options_.tokenizer, options_.skip_special);
  }
}

void TextSink::on_prompt(const PromptReport& report) {
  TextEvent event;
  event.kind = TextEvent::Kind::kPrompt;
  auto told = std::make_shared<PromptReport>(report);
  // The engine's steps have no clock that would see the end of the prompt's last one.
  const auto since_submit = std::chrono::steady_clock::now() - submitted_;
  told->prompt_seconds =
      std::max(told->prompt_seconds,
               std::chrono::duration<double>(since_submit).count() - told->queue_seconds);
  event.prompt = std::move(told);
  push(std::move(event));
}

std::string TextSink::stopped_text(const Answer& answer) const {
  return options_.include_stop ? answer.stops.matched() : std::string();
}

bool TextSink::on_token(int32_t choice, TokenId id, const PositionLogprobs* logprobs) {
  Answer& answer = answers_[static_cast<size_t>(choice)];
  TextEvent event;
  event.choice = choice;
  event.id = id;
  if (answer.decoder) event.text = answer.stops.push(answer.decoder->push(id));
  const bool has_stopped = answer.stops.has_matched();
  if (has_stopped) event.text += stopped_text(answer);
  if (logprobs != nullptr) {
    answer.logprob += logprobs->logprob;
    if (!options_.hides_logprobs) event.logprobs = *logprobs;
  }
  ++answer.tokens;
  if (options_.made > options_.n) {
    answer.events.push_back(std::move(event));
  } else {
    push(std::move(event));
  }
  return !has_stopped;
}

void TextSink::on_embedding(std::span<const float> embedding) {
  TextEvent event;
  event.kind = TextEvent::Kind::kEmbedding;
  event.embedding.assign(embedding.begin(), embedding.end());
  push(std::move(event));
}

void TextSink::on_finish(int32_t choice, FinishReason reason) {
  Answer& answer = answers_[static_cast<size_t>(choice)];
  TextEvent event;
  event.kind = TextEvent::Kind::kFinish;
  event.choice = choice;
  event.reason = reason;
  if (answer.decoder && !answer.stops.has_matched()) {
    // The end of the text may complete a stop string.
    event.text = answer.stops.push(answer.decoder->finish());
    if (answer.stops.has_matched()) {
      event.text += stopped_text(answer);
      event.reason = FinishReason::kStop;
    } else {
      event.text += answer.stops.finish();
    }
  }
  event.stop = answer.stops.matched();
  if (options_.made > options_.n) {
    answer.events.push_back(std::move(event));
  } else {
    push(std::move(event));
  }
}

// best_of: the answers with the highest mean log-probability, numbered by it.
void TextSink::tell_best() {
  std::vector<size_t> order(answers_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto mean = [&](size_t i) {
    return answers_[i].logprob / static_cast<double>(std::max<int64_t>(answers_[i].tokens, 1));
  };
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return mean(a) > mean(b); });
  for (int32_t choice = 0; choice < options_.n; ++choice) {
    for (TextEvent& event : answers_[order[static_cast<size_t>(choice)]].events) {
      event.choice = choice;
      push(std::move(event));
    }
  }
}

void TextSink::on_end(const Status& status) {
  if (options_.made > options_.n && status.is_ok()) tell_best();
  {
    const std::scoped_lock lock(mutex_);
    is_over_ = true;
    status_ = status;
    if (wake_) wake_();
  }
  has_event_.notify_all();
}

void TextSink::push(TextEvent event) {
  event.time = std::chrono::steady_clock::now();
  {
    const std::scoped_lock lock(mutex_);
    events_.push_back(std::move(event));
    if (wake_ && events_.size() == 1) wake_();
  }
  has_event_.notify_one();
}

std::optional<TextEvent> TextSink::take_first() {
  if (events_.empty()) return std::nullopt;
  TextEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

std::optional<TextEvent> TextSink::next() {
  std::unique_lock lock(mutex_);
  has_event_.wait(lock, [&] { return !events_.empty() || is_over_; });
  return take_first();
}

bool TextSink::wait_for(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return has_event_.wait_for(lock, time, [&] { return !events_.empty() || is_over_; });
}

std::optional<TextEvent> TextSink::try_next() {
  const std::scoped_lock lock(mutex_);
  return take_first();
}

bool TextSink::is_over() const {
  const std::scoped_lock lock(mutex_);
  return is_over_ && events_.empty();
}

bool TextSink::has_ended() const {
  const std::scoped_lock lock(mutex_);
  return is_over_;
}

void TextSink::notify(std::function<void()> wake) {
  const std::scoped_lock lock(mutex_);
  wake_ = std::move(wake);
  if (wake_ && (is_over_ || !events_.empty())) wake_();
}

Status TextSink::status() const {
  const std::scoped_lock lock(mutex_);
  return status_;
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "server/generation.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "api/loaded_model.h"
#include "base/limits.h"
#include "server/error_reply.h"

namespace ingot {
namespace {

constexpr size_t kKeptBytes = 64 * limits::kKiB;  // of each, in the log
constexpr std::string_view kBetween = "\n---\n";

RequestEnd request_end(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return RequestEnd::kStop;
    case FinishReason::kLength:
      return RequestEnd::kLength;
    case FinishReason::kCancelled:
      return RequestEnd::kAbort;
    case FinishReason::kDeadline:
      return RequestEnd::kError;
  }
  return RequestEnd::kError;
}

std::string_view name_of(RequestEnd end) {
  switch (end) {
    case RequestEnd::kStop:
      return "stop";
    case RequestEnd::kLength:
      return "length";
    case RequestEnd::kAbort:
      return "abort";
    case RequestEnd::kError:
      return "error";
  }
  return "";
}

// The request was accepted: if the model's file fails now, that is not the client's fault, and
// where the file lies is not its business.
Status as_our_fault(const Status& status) {
  if (status.code() == StatusCode::kResourceExhausted) {
    return Status::internal(
        "the device has no memory for this request beside the others; try again");
  }
  if (status.code() != StatusCode::kInvalidData && status.code() != StatusCode::kIo) return status;
  return Status::internal("the model cannot be computed any more; the server has to be restarted");
}

OpenAiError shutting_down() {
  return {.http_status = 503,
          .message = "the server is shutting down; try again in a moment",
          .type = "server_error",
          .param = {},
          .code = "shutting_down"};
}

}  // namespace

Generation::Generation(GenerationParts parts)
    : parts_(std::move(parts)), times_(parts_.request->requests.size()) {
  for (size_t i = 0; i < times_.size(); ++i) {
    times_[i].max_tokens = parts_.request->requests[i].max_tokens;
    times_[i].answers = parts_.request->requests[i].n;
  }
}

Generation::~Generation() {
  // What is destroyed before it was over has been left by its client.
  abandon();
}

void Generation::abandon() {
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i] == nullptr) continue;
    parts_.metrics.count(times_[i], RequestEnd::kAbort);
    finishes_.emplace(name_of(RequestEnd::kAbort));
  }
  streams_.clear();
}

void Generation::notify(std::function<void()> wake) {
  wake_ = std::move(wake);
  if (parts_.permit != nullptr) parts_.permit->notify(wake_);
}

void Generation::pause(bool is_paused) {
  for (const auto& stream : streams_) {
    if (stream == nullptr) continue;
    if (is_paused) {
      stream->pause();
    } else {
      stream->resume();
    }
  }
}

void Generation::interrupt() {
  is_interrupted_ = true;
}

HttpHead Generation::head(int status) const {
  HttpHead head{.status = status, .headers = parts_.headers};
  if (status != 200) return head;
  head.content_type = parts_.writer->content_type();
  if (parts_.writer->streams()) {
    // Proxies must pass events on as they come.
    head.headers.emplace_back("cache-control", "no-cache");
    head.headers.emplace_back("x-accel-buffering", "no");
  }
  return head;
}

std::optional<ReplyPart> Generation::submit() {
  is_submitted_ = true;
  const auto now = RequestTimes::Clock::now();
  for (RequestTimes& times : times_)
    times.submitted = now;
  for (const TextRequest& request : parts_.request->requests) {
    Result<std::unique_ptr<TextStream>> stream = parts_.engine.submit(request);
    if (!stream.is_ok()) {
      streams_.clear();
      OpenAiError error = to_openai_error(stream.status());
      if (stream.status().code() == StatusCode::kResourceExhausted) error.http_status = 429;
      if (!parts_.engine.lost().is_ok()) error = shutting_down();
      return failure(error);
    }
    streams_.push_back(*std::move(stream));
  }
  for (const auto& stream : streams_)
    stream->notify(wake_);
  return std::nullopt;
}

bool Generation::has_ended() const {
  return std::ranges::all_of(
      streams_, [](const auto& stream) { return stream == nullptr || stream->has_ended(); });
}

void Generation::take_events(std::string& out) {
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i] == nullptr) continue;
    RequestEnd end = RequestEnd::kStop;
    while (std::optional<TextEvent> event = streams_[i]->try_next()) {
      times_[i].take(*event);
      if (event->kind == TextEvent::Kind::kFinish) {
        end = request_end(event->reason);
        finishes_.emplace(name_of(end));
      }
      if (parts_.keeps_content) keep(i, *event);
      parts_.writer->take(i, *std::move(event), out);
    }
    if (!streams_[i]->is_over()) continue;
    const Status status = as_our_fault(streams_[i]->status());
    if (status_.is_ok()) status_ = status;
    if (!status.is_ok()) finishes_.emplace(name_of(RequestEnd::kError));
    parts_.metrics.count(times_[i], status.is_ok() ? end : RequestEnd::kError);
    streams_[i] = nullptr;
  }
}

void Generation::keep(size_t prompt, const TextEvent& event) {
  std::string& text = outputs_[{prompt, event.choice}];
  if (text.size() < kKeptBytes) text += event.text;
}

std::optional<RequestReport> Generation::report() const {
  RequestReport report{.model = parts_.model};
  const TextRequest& first = parts_.request->requests.front();
  report.answers = first.n;
  report.max_tokens = first.max_tokens;
  report.temperature = first.sampling.temperature;
  report.top_p = first.sampling.top_p;
  for (const RequestTimes& times : times_) {
    report.prompt_tokens += times.prompt_tokens;
    report.cached_tokens += times.reused_tokens;
    report.completion_tokens += times.generated_tokens;
    report.queue_seconds = std::max(report.queue_seconds, times.queue_seconds());
    report.prompt_seconds = std::max(report.prompt_seconds, times.prompt_seconds);
    report.decode_seconds = std::max(report.decode_seconds, times.decode_seconds());
    if (times.has_tokens() && report.first_token_seconds == 0)
      report.first_token_seconds = times.first_token_seconds();
  }
  std::set<std::string> finishes = finishes_;
  const bool was_left = std::ranges::any_of(streams_, [](const auto& s) { return s != nullptr; });
  if (was_left) finishes.emplace(name_of(RequestEnd::kAbort));
  report.finish = fmt::format("{}", fmt::join(finishes, ","));
  if (!parts_.keeps_content) return report;
  const Tokenizer* tokenizer = parts_.engine.model().text.tokenizer.get();
  for (const TextRequest& request : parts_.request->requests) {
    if (!report.prompt.empty()) report.prompt += kBetween;
    if (tokenizer != nullptr) report.prompt += tokenizer->decode(request.prompt_ids);
  }
  for (const auto& [key, text] : outputs_)
    report.output += fmt::format("{}{}", report.output.empty() ? "" : kBetween, text);
  report.prompt.resize(std::min(report.prompt.size(), kKeptBytes));
  return report;
}

ReplyPart Generation::failure(const OpenAiError& error) {
  is_done_ = true;
  if (has_begun_) return {.bytes = parts_.writer->fail(error), .is_last = true};
  return {
      .head = head(error.http_status), .bytes = error_text(parts_.path, error), .is_last = true};
}

ReplyPart Generation::last_part(std::string bytes) {
  if (!status_.is_ok() && !has_begun_) return failure(to_openai_error(status_));
  if (const auto broken_off = parts_.writer->broken_off(); broken_off && !has_begun_)
    return failure(*broken_off);
  is_done_ = true;
  ReplyPart part{.bytes = std::move(bytes), .is_last = true};
  if (!has_begun_) {
    part.head = head(200);
    std::string opening;
    parts_.writer->begin(opening);
    part.bytes.insert(0, opening);
  }
  parts_.writer->end(status_, part.bytes);
  return part;
}

std::optional<ReplyPart> Generation::next() {
  if (is_done_) return std::nullopt;
  if (is_interrupted_) {
    abandon();
    return failure(shutting_down());
  }
  if (!is_submitted_) {
    if (parts_.permit != nullptr && !parts_.permit->is_granted()) return std::nullopt;
    if (auto refused = submit()) return refused;
  }
  if (!parts_.writer->streams() && !has_ended()) return std::nullopt;
  std::string out;
  take_events(out);
  const bool is_over =
      std::ranges::all_of(streams_, [](const auto& stream) { return stream == nullptr; });
  if (is_over) return last_part(std::move(out));
  if (out.empty()) return std::nullopt;
  ReplyPart part{.bytes = std::move(out)};
  if (!std::exchange(has_begun_, true)) {
    part.head = head(200);
    std::string opening;
    parts_.writer->begin(opening);
    part.bytes.insert(0, opening);
  }
  return part;
}

}  // namespace ingot

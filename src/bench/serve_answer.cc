// SPDX-License-Identifier: Apache-2.0
#include "bench/serve_answer.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/limits.h"

namespace ingot {
namespace {

constexpr size_t kMostMessageBytes = 300;

// `value[name]` when that is an object with it; null otherwise.
const Json& field(const Json& value, const char* name) {
  static const Json kNull;
  if (!value.is_object()) return kNull;
  const auto it = value.find(name);
  return it == value.end() ? kNull : *it;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::optional<int64_t> count_of(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<int64_t>();
}

// What a choice says in this event: text, thought or a call of a tool, whole or a part.
std::string words_of(const Json& choice) {
  std::string words = text_of(field(choice, "text"));
  for (const char* name : {"delta", "message"}) {
    const Json& part = field(choice, name);
    words += text_of(field(part, "reasoning_content"));
    words += text_of(field(part, "reasoning"));
    words += text_of(field(part, "content"));
    if (const Json& calls = field(part, "tool_calls"); calls.is_array() && !calls.empty())
      words += dump_json(calls);
  }
  return words;
}

// A chunk without text that is neither beginning nor end: a token whose bytes the server holds
// back until the character is whole.
bool is_silent_token(const Json& choice) {
  const Json& delta = field(choice, "delta");
  return field(choice, "finish_reason").is_null() && field(delta, "role").is_null();
}

}  // namespace

std::string error_message(std::string_view body) {
  const Result<Json> parsed = parse_json(body, "the reply");
  std::string message;
  if (parsed.is_ok()) {
    const Json& error = field(*parsed, "error");
    for (const Json* value : {&field(error, "message"), &error, &field(*parsed, "message"),
                              &field(*parsed, "detail")}) {
      if (message.empty()) message = text_of(*value);
    }
  }
  if (message.empty()) message = body;
  if (message.size() > kMostMessageBytes) {
    message.resize(kMostMessageBytes);
    message += " ...";
  }
  return message;
}

void ServeAnswerReader::on_head(const HttpResponseHead& head) {
  answer_.http_status = head.status;
  is_stream_ = head.is_success() && head.header("content-type").starts_with("text/event-stream");
  const std::string_view after = head.header("retry-after");
  double seconds = 0;
  const auto [end, problem] = std::from_chars(after.data(), after.data() + after.size(), seconds);
  if (!after.empty() && problem == std::errc()) answer_.retry_after = seconds;
}

void ServeAnswerReader::on_body(std::string_view bytes, BenchClock::time_point time) {
  if (!is_stream_) {
    if (body_.size() + bytes.size() <= limits::kConfigBytes) body_ += bytes;
    return;
  }
  const Status status = events_.push(bytes, [&](std::string_view data) { take_event(data, time); });
  if (failure_.is_ok()) failure_ = status;
}

void ServeAnswerReader::take_event(std::string_view data, BenchClock::time_point time) {
  if (data == "[DONE]") {
    has_ended_ = true;
    return;
  }
  const Result<Json> event = parse_json(data, "an event");
  if (event.is_ok()) return take_json(*event, time);
  if (failure_.is_ok()) failure_ = event.status();
}

void ServeAnswerReader::take_json(const Json& event, BenchClock::time_point time) {
  if (const Json& error = field(event, "error"); !error.is_null() && failure_.is_ok()) {
    failure_ = Status(StatusCode::kRefused,
                      fmt::format("the server stopped: {}", error_message(dump_json(event))));
  }
  if (const Json& choices = field(event, "choices"); choices.is_array() && !choices.empty()) {
    const Json& choice = choices[0];
    const std::string words = words_of(choice);
    if (!words.empty() || is_silent_token(choice)) answer_.chunks.push_back(time);
    answer_.text += words;
    if (const Json& reason = field(choice, "finish_reason"); reason.is_string())
      answer_.finish_reason = reason.get<std::string>();
    if (!answer_.chunks.empty() || !answer_.finish_reason.empty()) answer_.last = time;
  }
  const Json& usage = field(event, "usage");
  const Json& timings = field(event, "timings");
  const auto keep = [](std::optional<int64_t>& kept, const Json& value) {
    if (const auto count = count_of(value)) kept = count;
  };
  keep(answer_.prompt_tokens, field(usage, "prompt_tokens"));
  keep(answer_.output_tokens, field(usage, "completion_tokens"));
  keep(answer_.cached_tokens, field(timings, "cache_n"));  // llama-server's own
  keep(answer_.cached_tokens, field(field(usage, "prompt_tokens_details"), "cached_tokens"));
}

Status ServeAnswerReader::finish(const Status& transport, BenchClock::time_point time) {
  if (!transport.is_ok()) return transport;
  if (answer_.http_status < 200 || answer_.http_status >= 300) {
    return Status(StatusCode::kRefused,
                  fmt::format("HTTP {}: {}", answer_.http_status, error_message(body_)));
  }
  if (is_stream_) {
    events_.finish([&](std::string_view data) { take_event(data, time); });
  } else {
    INGOT_TRY(const Json whole, parse_json(body_, "the reply"));
    take_json(whole, time);
  }
  INGOT_TRY(failure_);
  if (!has_ended_ && answer_.finish_reason.empty())
    return Status(StatusCode::kInvalidData, "the answer stopped without saying that it ended");
  return Status::ok();
}

}  // namespace ingot

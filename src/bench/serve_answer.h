// SPDX-License-Identifier: Apache-2.0
// One streamed answer of an OpenAI-compatible server as the client sees it: which chunks came when,
// and what the server itself counted. Fed with the bytes of the body, cut anywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "bench/bench_clock.h"
#include "bench/http_response.h"
#include "bench/sse_parser.h"

namespace ingot {

// Plain data.
struct ServeAnswer {
  int http_status = 0;                              // 0: none came
  std::optional<double> retry_after = {};           // seconds, where the server names some
  std::vector<BenchClock::time_point> chunks = {};  // when each part of the text came
  std::optional<BenchClock::time_point> last =
      {};  // the last word about the text, its end included
  std::optional<int64_t> prompt_tokens = {};
  std::optional<int64_t> cached_tokens = {};  // of the prompt
  std::optional<int64_t> output_tokens = {};
  std::string text = {};
  std::string finish_reason = {};
};

// The server's own words in an error's body, whichever of the usual shapes it has.
std::string error_message(std::string_view body);

// Single thread.
class ServeAnswerReader {
 public:
  void on_head(const HttpResponseHead& head);
  void on_body(std::string_view bytes, BenchClock::time_point time);
  // How it went: an error for a status that is not 2xx, an error among the events, an answer
  // without an end. `transport` is the connection's own view.
  Status finish(const Status& transport, BenchClock::time_point time);

  const ServeAnswer& answer() const { return answer_; }
  ServeAnswer take() { return std::move(answer_); }

 private:
  void take_event(std::string_view data, BenchClock::time_point time);
  void take_json(const Json& event, BenchClock::time_point time);

  ServeAnswer answer_;
  SseParser events_;
  bool is_stream_ = false;
  bool has_ended_ = false;  // [DONE]
  std::string body_;        // of what is no stream
  Status failure_;
};

}  // namespace ingot

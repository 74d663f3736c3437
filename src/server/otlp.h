// SPDX-License-Identifier: Apache-2.0
// Spans to an OpenTelemetry collector, over OTLP/HTTP with JSON, on a thread of its own. Serving
// never waits for it: what does not fit into the bounded queue is dropped and counted.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "server/http_post.h"
#include "server/span.h"

namespace ingot {

struct OtlpOptions {
  std::string url;  // without a path: /v1/traces is meant
  std::string version;
  size_t queue = 2048;
  size_t batch = 256;
  std::chrono::milliseconds period{1000};       // between two batches that are not full
  std::chrono::milliseconds timeout{10'000};    // of one try
  std::chrono::milliseconds first_wait{1'000};  // after a failure; doubles
  std::chrono::milliseconds longest_wait{30'000};
  int tries = 6;                                     // of one batch
  std::chrono::milliseconds time_at_the_end{2'000};  // for what is left when we stop
};

// Thread-safe.
class OtlpExporter final : public SpanSink {
 public:
  static Result<std::unique_ptr<OtlpExporter>> start(OtlpOptions options);
  ~OtlpExporter() override;

  void take(Span span) override;
  SpanCounts counts() const override { return {exported_, dropped_}; }

 private:
  OtlpExporter(OtlpOptions options, HttpEndpoint endpoint);
  void run(const std::stop_token& stop);
  std::vector<Span> next_batch(const std::stop_token& stop);
  void send(const std::vector<Span>& spans, const std::stop_token& stop);
  // Whether the collector has it; asked again only where that may help.
  enum class Outcome : uint8_t { kDone, kRefused, kTryAgain };
  Outcome try_once(const std::string& body, const std::stop_token& stop);
  void complain(const std::string& why);

  const OtlpOptions options_;
  const HttpEndpoint endpoint_;
  std::mutex mutex_;
  std::condition_variable_any news_;
  std::deque<Span> queue_;  // under the mutex
  std::atomic<int64_t> exported_ = 0, dropped_ = 0;
  bool has_complained_ = false;                     // its thread only
  std::chrono::steady_clock::time_point last_end_;  // its thread only: when all must be over
  std::jthread thread_;                             // last: it uses all of the above
};

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// What has happened, for Prometheus: counters and histograms with vLLM's names and meanings, and
// ours beside them. The engine's own figures are read when somebody asks.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/engine.h"

namespace ingot {

// When things happened to one prompt's answers; counted when it is over.
struct RequestTimes {
  using Clock = std::chrono::steady_clock;
  Clock::time_point arrived = Clock::now();
  Clock::time_point first_token = {}, last_token = {};
  std::vector<Clock::time_point> last_of_choice = {};  // [choice]
  std::vector<double> gaps = {};                       // between tokens of a choice, in seconds
  int64_t prompt_tokens = 0, reused_tokens = 0, generated_tokens = 0;
  int64_t max_tokens = -1;  // as asked for
  int32_t answers = 1;
  double queue_seconds = 0, prompt_seconds = 0;

  void take(const TextEvent& event);
};

enum class RequestEnd : uint8_t { kStop, kLength, kAbort, kError };

// Thread-safe.
class ServerMetrics {
 public:
  ServerMetrics(std::string model_name, int64_t context);

  void count(const RequestTimes& times, RequestEnd end);
  void count_http(std::string_view method, std::string_view route, int status, double seconds);
  void count_refused();  // 429

  // The text format, version 0.0.4.
  std::string text(const EngineStats& engine, int64_t queued, size_t connections) const;

 private:
  struct Histogram {
    explicit Histogram(std::span<const double> bounds);
    void add(double value);
    std::vector<double> bounds;
    std::vector<uint64_t> counts;  // one more than bounds
    double sum = 0;
  };

  const std::string model_name_;
  mutable std::mutex mutex_;
  uint64_t refused_ = 0;
};

}  // namespace ingot

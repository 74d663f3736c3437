// SPDX-License-Identifier: Apache-2.0
// The metrics that are this server's own: pages, steps, speed, connections and HTTP requests.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "server/prometheus.h"
#include "server/server_figures.h"

namespace ingot {

// Single thread.
class IngotMetrics {
 public:
  IngotMetrics(const std::string& model_name, const std::string& version);

  void count_http(std::string_view method, std::string_view route, int status, double seconds);
  void count_refused() { ++refused_; }
  void sample(const EngineStats& engine);
  void write(const ServerFigures& figures, MetricText& out) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Sample {
    Clock::time_point time;
    int64_t prompt_tokens = 0, generated_tokens = 0;
  };
  void write_pages(const ServerFigures& figures, MetricText& out) const;
  void write_engine(const ServerFigures& figures, MetricText& out) const;
  void write_speed(const ServerFigures& figures, MetricText& out) const;
  void write_http(const ServerFigures& figures, MetricText& out) const;

  const std::string labels_;
  const std::string build_labels_;
  // [method, route, status]: all three from lists of ours, so there are only so many.
  std::map<std::tuple<std::string, std::string, int>, int64_t> http_requests_;
  std::map<std::string, Histogram, std::less<>> http_seconds_;  // [route]
  std::deque<Sample> samples_;                                  // of the last seconds, oldest first
  int64_t refused_ = 0;
};

}  // namespace ingot

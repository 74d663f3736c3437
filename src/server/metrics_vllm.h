// SPDX-License-Identifier: Apache-2.0
// The metrics that vLLM has too: names, labels, buckets and meanings are its own, so dashboards
// made for it show this server. Every series is there, at zero, from the start.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/prometheus.h"
#include "server/request_times.h"
#include "server/server_figures.h"

namespace ingot {

// Single thread.
class VllmMetrics {
 public:
  VllmMetrics(std::string model_name, int64_t context,
              std::vector<std::pair<std::string, std::string>> cache_config);
  VllmMetrics(const VllmMetrics&) = delete;  // histograms point to its bounds
  VllmMetrics& operator=(const VllmMetrics&) = delete;

  void count(const RequestTimes& times, RequestEnd end);
  void write(const ServerFigures& figures, MetricText& out) const;

 private:
  void write_requests(const ServerFigures& figures, MetricText& out) const;
  void write_cache(const ServerFigures& figures, MetricText& out) const;
  void write_tokens(const ServerFigures& figures, MetricText& out) const;
  void write_sizes(const ServerFigures& figures, MetricText& out) const;
  void write_times(MetricText& out) const;
  // The labels of every series, and one more.
  std::string labels_with(std::string_view name, std::string_view value) const;

  const std::string model_name_;
  const std::string labels_;
  const std::vector<std::pair<std::string, std::string>> cache_config_;
  const std::vector<double> token_bounds_;  // of counts of tokens, up to the context

  std::array<int64_t, 4> ends_{};  // [RequestEnd]
  Histogram prompt_tokens_, generated_tokens_, longest_answer_, max_tokens_, computed_tokens_;
  Histogram answers_;
  Histogram first_token_, token_gap_, token_mean_;
  Histogram whole_, queue_, inference_, prefill_, decode_;
};

}  // namespace ingot

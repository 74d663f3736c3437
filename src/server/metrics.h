// SPDX-License-Identifier: Apache-2.0
// What has happened, for Prometheus: counters and histograms with vLLM's names and meanings, and
// ours beside them. The engine's own figures are read when somebody asks.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/metrics_ingot.h"
#include "server/metrics_vllm.h"
#include "server/request_times.h"

namespace ingot {

// Thread-safe.
class ServerMetrics {
 public:
  struct Options {
    std::string model_name;
    int64_t context = 0;
    std::string version;
    // The settings of the KV cache, as vLLM names them.
    std::vector<std::pair<std::string, std::string>> cache_config = {};
  };
  explicit ServerMetrics(const Options& options);

  // Once for each prompt, when it is over.
  void count(const RequestTimes& times, RequestEnd end);
  // `method` and `route` from lists of ours: whatever else a client sends is "other".
  void count_http(std::string_view method, std::string_view route, int status, double seconds);
  void count_refused();  // 429
  // Every second or so: tokens per second are the difference to some seconds ago.
  void sample(const EngineStats& engine);

  // The text format, version 0.0.4.
  std::string text(const ServerFigures& figures) const;

 private:
  mutable std::mutex mutex_;
  VllmMetrics vllm_;    // under the mutex
  IngotMetrics ingot_;  // under the mutex
};

}  // namespace ingot

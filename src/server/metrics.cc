// SPDX-License-Identifier: Apache-2.0
#include "server/metrics.h"

#include "server/process_stats.h"

namespace ingot {

ServerMetrics::ServerMetrics(const Options& options)
    : vllm_(options.model_name, options.context, options.cache_config),
      ingot_(options.model_name, options.version) {}

void ServerMetrics::count(const RequestTimes& times, RequestEnd end) {
  const std::scoped_lock lock(mutex_);
  vllm_.count(times, end);
}

void ServerMetrics::count_http(std::string_view method, std::string_view route, int status,
                               double seconds) {
  const std::scoped_lock lock(mutex_);
  ingot_.count_http(method, route, status, seconds);
}

void ServerMetrics::count_refused() {
  const std::scoped_lock lock(mutex_);
  ingot_.count_refused();
}

void ServerMetrics::sample(const EngineStats& engine) {
  const std::scoped_lock lock(mutex_);
  ingot_.sample(engine);
}

std::string ServerMetrics::text(const ServerFigures& figures) const {
  MetricText out;
  {
    const std::scoped_lock lock(mutex_);
    vllm_.write(figures, out);
    ingot_.write(figures, out);
  }
  write_process_stats(out);
  return out.take();
}

}  // namespace ingot

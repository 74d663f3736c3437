// SPDX-License-Identifier: Apache-2.0
#include "server/metrics.h"

#include <utility>

namespace ingot {

void RequestTimes::take(const TextEvent& event) {
  if (event.kind == TextEvent::Kind::kPrompt) {
    prompt_tokens = event.prompt->tokens;
    reused_tokens = event.prompt->reused_tokens;
    queue_seconds = event.prompt->queue_seconds;
    prompt_seconds = event.prompt->prompt_seconds;
    return;
  }
  if (event.kind != TextEvent::Kind::kToken) return;
  if (generated_tokens++ == 0) first_token = event.time;
  last_token = event.time;
  const auto choice = static_cast<size_t>(event.choice);
  if (last_of_choice.size() <= choice) last_of_choice.resize(choice + 1);
  if (last_of_choice[choice] != Clock::time_point())
    gaps.push_back(std::chrono::duration<double>(event.time - last_of_choice[choice]).count());
  last_of_choice[choice] = event.time;
}

ServerMetrics::ServerMetrics(std::string model_name, int64_t /*context*/)
    : model_name_(std::move(model_name)) {}

void ServerMetrics::count(const RequestTimes& /*times*/, RequestEnd /*end*/) {}
void ServerMetrics::count_http(std::string_view /*method*/, std::string_view /*route*/,
                               int /*status*/, double /*seconds*/) {}
void ServerMetrics::count_refused() {
  const std::scoped_lock lock(mutex_);
  ++refused_;
}

std::string ServerMetrics::text(const EngineStats& /*engine*/, int64_t /*queued*/,
                                size_t /*connections*/) const {
  return {};
}

}  // namespace ingot

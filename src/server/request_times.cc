// SPDX-License-Identifier: Apache-2.0
#include "server/request_times.h"

namespace ingot {
namespace {

double seconds_between(RequestTimes::Clock::time_point begin, RequestTimes::Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

void RequestTimes::take(const TextEvent& event) {
  if (event.kind == TextEvent::Kind::kPrompt) {
    has_prompt = true;
    prompt_tokens = event.prompt->tokens;
    reused_tokens = event.prompt->reused_tokens;
    engine_queue_seconds = event.prompt->queue_seconds;
    prompt_seconds = event.prompt->prompt_seconds;
    return;
  }
  if (event.kind != TextEvent::Kind::kToken) return;
  if (generated_tokens++ == 0) first_token = event.time;
  last_token = event.time;
  const auto choice = static_cast<size_t>(event.choice);
  if (last_of_choice.size() <= choice) {
    last_of_choice.resize(choice + 1);
    tokens_of_choice.resize(choice + 1);
  }
  if (tokens_of_choice[choice]++ > 0) gaps.add(seconds_between(last_of_choice[choice], event.time));
  last_of_choice[choice] = event.time;
}

double RequestTimes::queue_seconds() const {
  const bool was_submitted = submitted != Clock::time_point();
  return (was_submitted ? seconds_between(arrived, submitted) : 0) + engine_queue_seconds;
}

double RequestTimes::first_token_seconds() const {
  return has_tokens() ? seconds_between(arrived, first_token) : 0;
}

double RequestTimes::decode_seconds() const {
  return seconds_between(first_token, last_token);
}

}  // namespace ingot

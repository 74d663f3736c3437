// SPDX-License-Identifier: Apache-2.0
// When things happened to one prompt and its answers: read off the engine's events as they pass,
// counted once when the prompt is over. Its size does not grow with the answers.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "ingot/engine.h"
#include "server/prometheus.h"

namespace ingot {

// vLLM's, for times between tokens.
inline constexpr std::array<double, 19> kTokenSecondBounds = {
    .01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80};

// Single thread.
struct RequestTimes {
  using Clock = std::chrono::steady_clock;
  Clock::time_point arrived = Clock::now();
  Clock::time_point submitted = {};  // to the engine; before that it waited for its key's turn
  Clock::time_point first_token = {}, last_token = {};
  std::vector<Clock::time_point> last_of_choice = {};  // [choice]
  std::vector<int64_t> tokens_of_choice = {};          // [choice]
  Histogram gaps{kTokenSecondBounds};                  // between tokens of a choice, in seconds
  int64_t prompt_tokens = 0, reused_tokens = 0, generated_tokens = 0;
  int64_t max_tokens = -1;  // as asked for
  int32_t answers = 1;
  bool has_prompt = false;  // the next two are known
  double engine_queue_seconds = 0, prompt_seconds = 0;

  void take(const TextEvent& event);

  bool has_tokens() const { return generated_tokens > 0; }
  // Until its first step: in its key's line and in the engine's.
  double queue_seconds() const;
  double first_token_seconds() const;  // from arrival
  double decode_seconds() const;       // from the first token to the last
};

// Why it is over, in vLLM's words.
enum class RequestEnd : uint8_t { kStop, kLength, kAbort, kError };

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// What one request to a server came to, and what a run of them: the raw material of the report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ingot {

enum class ServeOutcome : uint8_t {
  kOk,
  kRefused,  // 429: the server protects itself
  kFailed,
};

// Plain data; times in seconds.
struct ServeRecord {
  ServeOutcome outcome = ServeOutcome::kFailed;
  std::string error = {};
  int http_status = 0;
  std::optional<double> retry_after = {};
  size_t conversation = 0;
  size_t turn = 0;
  double due = 0;                 // since the run began: when it should have been sent
  double sent = 0;                // since the run began
  double first = 0;               // since it was sent: the first part of its text
  double last = 0;                // ... the last word about it, or the end of a failure
  std::vector<double> gaps = {};  // between the parts of its text
  int64_t asked_tokens = 0;       // of the answer
  int64_t output_tokens = 0;      // as the server counts; else parts of text
  int64_t prompt_tokens = 0;      // as the server counts; else as we made it
  std::optional<int64_t> cached_tokens = {};
  bool has_usage = false;
  std::string finish_reason = {};

  // Time per output token after the first.
  double per_token() const {
    return output_tokens > 1 ? (last - first) / static_cast<double>(output_tokens - 1) : 0;
  }
};

struct ServeRun {
  double seconds = 0;
  std::vector<ServeRecord> requests = {};
  int64_t unsent = 0;  // stopped, or the turn before failed
  int64_t peak_in_flight = 0;
  double mean_in_flight = 0;
  double own_cpu_seconds = 0;  // of the load generator
  bool was_stopped = false;
};

}  // namespace ingot

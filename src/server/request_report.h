// SPDX-License-Identifier: Apache-2.0
// What became of a request for text, for its line in the log and its span. Plain data.
#pragma once

#include <cstdint>
#include <string>

namespace ingot {

struct RequestReport {
  std::string model = {};
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;  // of these
  int64_t completion_tokens = 0;
  std::string finish = {};  // "stop", "length", "abort", "error"; several, with commas, where they
                            // differ; empty: it never ran
  double queue_seconds = 0;
  double first_token_seconds = 0;  // 0: there was none
  double prompt_seconds = 0, decode_seconds = 0;
  // As asked for.
  int32_t answers = 1;
  int64_t max_tokens = -1;
  double temperature = 0, top_p = 1;
  // Only where the operator wants them logged.
  std::string prompt = {}, output = {};
};

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// How fast an answer came, in one line for people.
#pragma once

#include <cstdint>
#include <string>

namespace ingot {

struct RunStats {
  int64_t prompt_tokens = 0;
  int64_t reused_tokens = 0;  // of the prompt, found in the cache
  int64_t answer_tokens = 0;
  double prompt_seconds = 0;
  double decode_seconds = 0;
};

// "prompt: 12 tokens (8 cached) in 0.02 s, 200 tokens/s; answer: ...".
std::string describe(const RunStats& stats);

}  // namespace ingot

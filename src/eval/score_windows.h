// SPDX-License-Identifier: Apache-2.0
// How a long text is cut into windows for scoring, and which of its tokens count: the arithmetic of
// a perplexity protocol, apart from any model.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ingot/sampling.h"

namespace ingot {

// docs/evaluation.md has the arithmetic of each.
enum class Protocol : uint8_t {
  kLlama,        // llama-perplexity: chunks, the second half of each is scored
  kHuggingFace,  // the strided windows of transformers' documentation: every token once
  kWindows,      // bos + n-1 tokens without overlap, every one scored
};
std::string_view to_string(Protocol protocol);  // "llama", "hf", "windows"
Result<Protocol> parse_protocol(std::string_view name);

struct WindowOptions {
  Protocol protocol = Protocol::kLlama;
  int64_t context = 512;  // tokens of a window
  // kLlama: 0, or a sliding window that scores its last `stride` tokens. kHuggingFace: how far
  // windows move. Else 0.
  int64_t stride = 0;
  int64_t max_chunks = -1;  // windows; -1: all
  bool adds_bos = true;     // where the protocol has one, and the model too
  TokenId bos = -1;
};

enum class BosUse : uint8_t {
  kNone,
  kReplacesFirst,  // the window's first token becomes bos
  kPrepended,      // bos stands before the window's tokens
};

// Tokens [begin, begin + size) of the text; those from begin + first_scored on are predicted, each
// from all that stand before it in the window.
struct ScoreWindow {
  int64_t begin = 0;
  int64_t size = 0;
  int64_t first_scored = 0;
  BosUse bos = BosUse::kNone;
  friend bool operator==(const ScoreWindow&, const ScoreWindow&) = default;
};

// Fails, with the numbers, when the text is too short for the protocol or an option is out of
// range.
Result<std::vector<ScoreWindow>> plan_windows(int64_t tokens, const WindowOptions& options);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// One stream of tokens on its way through the engine: what it wants, how far it is, and the pages
// it holds. Prompts, decodes and resumed victims look alike: `tokens` not yet `computed` are
// pending, and when none are left its next token is sampled.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/page_key.h"
#include "engine/page_pool.h"
#include "engine/prefix_node.h"
#include "model/batch.h"

namespace ingot {

using SequenceId = int64_t;
// Time is passed in, never read: since whatever moment the caller counts from.
using Instant = std::chrono::nanoseconds;
inline constexpr Instant kNever = Instant::max();

// What a caller asks for.
struct SequenceRequest {
  std::vector<TokenId> prompt;
  int64_t max_length = 0;  // prompt and answer together
  int32_t priority = 0;    // lower runs first
  Instant deadline = kNever;
  PrefixNamespace space;
  int64_t rope_length = 0;  // see BatchSequence
  // Prompt rows from here on are wanted for their logits, so they are computed even where the cache
  // has them.
  int64_t first_scored = std::numeric_limits<int64_t>::max();
  int64_t max_chunk = std::numeric_limits<int64_t>::max();  // tokens computed in one step
};

// In a sequence whose last token a device has sampled and the host does not know yet.
inline constexpr TokenId kUnknownToken = -1;

enum class SequenceState : uint8_t {
  kWaiting,  // holds nothing
  kRunning,  // holds pages, and a seat among max_num_seqs
  kEnded,
};

// Owned and changed by the Scheduler; others read. Engine thread only.
struct Sequence {
  SequenceId id = 0;
  SequenceRequest request;
  int64_t arrival = 0;  // forks keep their parent's
  SequenceState state = SequenceState::kWaiting;
  bool is_held = false;         // has no token to compute until its owner gives it one (beams)
  bool is_paused = false;       // its reader cannot keep up: nothing is computed for it
  std::vector<TokenId> tokens;  // prompt and answer
  int64_t computed = 0;         // leading tokens whose keys and values are in the pages
  int64_t reused = 0;           // of these, found in the cache when it was first admitted
  int64_t preemptions = 0;
  std::vector<PageTable> tables;  // [group]; empty while waiting
  PrefixNode* node = nullptr;     // the prefix tree's last whole page of it, pinned while running
  int64_t registered = 0;         // tokens up to and including `node`'s
  int64_t unknown_row = -1;       // output row of the step before that its last token is sampled
                                  // from, while nobody knows it; -1: all are known

  bool can_run() const { return !is_held && !is_paused; }
  bool is_guessed() const { return unknown_row >= 0; }
  int64_t size() const { return static_cast<int64_t>(tokens.size()); }
  int64_t known() const { return size() - (is_guessed() ? 1 : 0); }
  int64_t prompt_size() const { return static_cast<int64_t>(request.prompt.size()); }
  int64_t pending() const { return size() - computed; }
};

}  // namespace ingot

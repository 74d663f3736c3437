// SPDX-License-Identifier: Apache-2.0
// What a perfect prefix cache could reuse: every sequence that was ever computed, remembered token
// by token, nothing evicted. A benchmark compares the engine with it.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>

#include "ingot/sampling.h"

namespace ingot {

// Single thread. Prefixes are known by their 64-bit hash: a chance of error below 2^-20 up to two
// million tokens.
class ReuseIdeal {
 public:
  // How far a growing sequence has been remembered.
  struct Cursor {
    uint64_t hash = 0;
    size_t tokens = 0;
  };

  // sequence[0, computed) is computed now; `cursor` is this sequence's own and moves there.
  void remember(std::span<const TokenId> sequence, size_t computed, Cursor& cursor);
  // Leading tokens of the prompt that some sequence has computed. Never all of them: the last one's
  // logits are wanted, so it has to run.
  int64_t reusable(std::span<const TokenId> prompt) const;

 private:
  std::unordered_set<uint64_t> prefixes_;
};

}  // namespace ingot

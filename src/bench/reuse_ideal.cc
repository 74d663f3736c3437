// SPDX-License-Identifier: Apache-2.0
#include "bench/reuse_ideal.h"

#include <algorithm>

#include "engine/random.h"

namespace ingot {
namespace {

uint64_t extend(uint64_t hash, TokenId id) {
  return random_bits(hash, static_cast<uint64_t>(static_cast<uint32_t>(id)) + 1);
}

}  // namespace

void ReuseIdeal::remember(std::span<const TokenId> sequence, size_t computed, Cursor& cursor) {
  const size_t end = std::min(computed, sequence.size());
  for (; cursor.tokens < end; ++cursor.tokens) {
    cursor.hash = extend(cursor.hash, sequence[cursor.tokens]);
    prefixes_.insert(cursor.hash);
  }
}

int64_t ReuseIdeal::reusable(std::span<const TokenId> prompt) const {
  uint64_t hash = 0;
  for (size_t i = 0; i + 1 < prompt.size(); ++i) {
    hash = extend(hash, prompt[i]);
    if (!prefixes_.contains(hash)) return static_cast<int64_t>(i);
  }
  return prompt.empty() ? 0 : static_cast<int64_t>(prompt.size()) - 1;
}

}  // namespace ingot

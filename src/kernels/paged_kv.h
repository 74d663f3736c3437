// SPDX-License-Identifier: Apache-2.0
// The layout of the paged KV cache; who owns a page is engine/'s business. A page holds kPageTokens
// consecutive positions of one sequence, for one layer: keys [kv_heads, page_tokens, key_dim], then
// values [kv_heads, page_tokens, value_dim], so that one head's run of positions is contiguous.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blocks/layout.h"

namespace ingot {

using PageId = int32_t;
inline constexpr int64_t kPageTokens = 16;

struct PagedKvShape {
  Layout layout = Layout::kF32;  // kF32, kF16 or kBF16
  int64_t kv_heads = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;

  int64_t element_bytes() const { return layout == Layout::kF32 ? 4 : 2; }
  int64_t key_bytes() const { return kv_heads * kPageTokens * key_dim * element_bytes(); }
  int64_t page_bytes() const {
    return key_bytes() + kv_heads * kPageTokens * value_dim * element_bytes();
  }
};

// One layer's pages: page p begins at data + p * page_stride.
struct PagedKv {
  PagedKvShape shape;
  std::byte* data = nullptr;
  int64_t page_stride = 0;  // bytes
};

// One sequence's share of a ragged batch: `tokens` rows from `first_row` on, at positions
// first_position ... ; pages[i] holds positions [i * kPageTokens, (i + 1) * kPageTokens).
struct SequenceRows {
  int64_t first_row = 0;
  int64_t tokens = 0;
  int64_t first_position = 0;
  const PageId* pages = nullptr;
};

}  // namespace ingot

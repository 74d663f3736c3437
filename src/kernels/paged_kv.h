// SPDX-License-Identifier: Apache-2.0
// The layout of the paged KV cache; who owns a page is engine/'s business. A page holds page_tokens
// consecutive positions of one sequence; a layer's part of it is keys [kv_heads, page_tokens] rows,
// then values likewise, so that one head's run of positions is contiguous. A row is one position's
// key or value of one head, complete in itself: its codes, then its scales.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace ingot {

using PageId = int32_t;
inline constexpr PageId kNoPage = -1;  // a page given back: its positions are out of the window
using PageTable = std::vector<PageId>;

inline constexpr int64_t kDefaultPageTokens = 16;
inline constexpr int64_t kSmallestPageTokens = 8;
inline constexpr int64_t kLargestPageTokens = 128;
// A power of two within the two.
bool is_page_size(int64_t page_tokens);

// How keys and values are kept. Bytes of a row of `dim` values:
//   f32 4 dim; f16, bf16 2 dim; fp8 dim (plain casts that saturate at the largest finite value);
//   int8 dim + 2: codes -127 ... 127, then one f16 scale;
//   int4 ceil(dim / 2) + 4: codes 0 ... 15, the lower nibble first, then f16 scale and f16 base.
// Keys of fp8 and int4 are stored rotated (attention_parts.h).
enum class KvCacheType : uint8_t { kF32, kF16, kBF16, kFp8E4M3, kFp8E5M2, kInt8, kInt4 };

std::span<const KvCacheType> kv_cache_types();
std::string_view to_string(KvCacheType type);  // "f32 f16 bf16 fp8_e4m3 fp8_e5m2 int8 int4"
// Also "fp8" (e4m3).
Result<KvCacheType> parse_kv_cache_type(std::string_view name);
int64_t kv_row_bytes(KvCacheType type, int64_t dim);

struct PagedKvShape {
  KvCacheType type = KvCacheType::kF16;
  int64_t kv_heads = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  int64_t page_tokens = kDefaultPageTokens;

  int64_t key_row_bytes() const { return kv_row_bytes(type, key_dim); }
  int64_t value_row_bytes() const { return kv_row_bytes(type, value_dim); }
  int64_t token_bytes() const { return kv_heads * (key_row_bytes() + value_row_bytes()); }
  int64_t page_bytes() const { return token_bytes() * page_tokens; }
};

// One layer's pages: page p begins at data + p * page_stride.
struct PagedKv {
  PagedKvShape shape;
  std::byte* data = nullptr;
  int64_t page_stride = 0;  // bytes
};

// One sequence's share of a ragged batch: `tokens` rows from `first_row` on, at positions
// first_position ... ; pages[i] holds positions [i * page_tokens, (i + 1) * page_tokens).
struct SequenceRows {
  int64_t first_row = 0;
  int64_t tokens = 0;
  int64_t first_position = 0;
  const PageId* pages = nullptr;
};

}  // namespace ingot

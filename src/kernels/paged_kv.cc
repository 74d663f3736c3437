// SPDX-License-Identifier: Apache-2.0
#include "kernels/paged_kv.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace ingot {
namespace {

struct TypeName {
  KvCacheType type;
  std::string_view name;
};
constexpr TypeName kKvTypeNames[] = {
    {KvCacheType::kF32, "f32"},          {KvCacheType::kF16, "f16"},
    {KvCacheType::kBF16, "bf16"},        {KvCacheType::kFp8E4M3, "fp8_e4m3"},
    {KvCacheType::kFp8E5M2, "fp8_e5m2"}, {KvCacheType::kInt8, "int8"},
    {KvCacheType::kInt4, "int4"},        {KvCacheType::kFp8E4M3, "fp8"},
};
constexpr KvCacheType kTypes[] = {KvCacheType::kF32,     KvCacheType::kF16,     KvCacheType::kBF16,
                                  KvCacheType::kFp8E4M3, KvCacheType::kFp8E5M2, KvCacheType::kInt8,
                                  KvCacheType::kInt4};

}  // namespace

bool is_page_size(int64_t page_tokens) {
  return page_tokens >= kSmallestPageTokens && page_tokens <= kLargestPageTokens &&
         std::has_single_bit(static_cast<uint64_t>(page_tokens));
}

std::span<const KvCacheType> kv_cache_types() {
  return kTypes;
}

std::string_view to_string(KvCacheType type) {
  return std::ranges::find(kKvTypeNames, type, &TypeName::type)->name;
}

Result<KvCacheType> parse_kv_cache_type(std::string_view name) {
  const auto* it = std::ranges::find(kKvTypeNames, name, &TypeName::name);
  if (it != std::end(kKvTypeNames)) return it->type;
  return Status::invalid_argument(
      "a KV cache of type '{}' is not known; use auto, f32, f16, bf16, fp8, fp8_e4m3, fp8_e5m2, "
      "int8 or int4",
      name);
}

int64_t kv_row_bytes(KvCacheType type, int64_t dim) {
  switch (type) {
    case KvCacheType::kF32:
      return 4 * dim;
    case KvCacheType::kF16:
    case KvCacheType::kBF16:
      return 2 * dim;
    case KvCacheType::kFp8E4M3:
    case KvCacheType::kFp8E5M2:
      return dim;
    case KvCacheType::kInt8:
      return dim + 2;
    case KvCacheType::kInt4:
      return (dim + 1) / 2 + 4;
  }
  return 0;
}

}  // namespace ingot

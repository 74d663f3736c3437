// SPDX-License-Identifier: Apache-2.0
#include "model/kv_cache.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/checked.h"

namespace ingot {
namespace {

constexpr int64_t kAlignment = 64;  // a cache line: layers and pages never share one

PagedKvShape shape_of(const LayerSpec& layer, KvCacheType type, int64_t page_tokens) {
  const auto& attention = std::get<AttentionSpec>(layer.mixer);
  return {type, attention.kv_heads, attention.key_dim, attention.value_dim, page_tokens};
}

int64_t aligned_bytes(const PagedKvShape& shape) {
  return (shape.page_bytes() + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

std::vector<CacheGroup> cache_groups(const ModelSpec& spec, KvCacheType type, int64_t page_tokens) {
  std::vector<CacheGroup> groups;
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const int64_t window = std::get<AttentionSpec>(spec.layers[i].mixer).window;
    const bool is_on_device = spec.layers[i].is_on_device;
    auto it = std::ranges::find_if(groups, [&](const CacheGroup& group) {
      return group.window == window && group.is_on_device == is_on_device;
    });
    if (it == groups.end())
      it = groups.insert(it, {.window = window, .layers = {}, .is_on_device = is_on_device});
    it->layers.push_back(static_cast<int32_t>(i));
    it->page_bytes += aligned_bytes(shape_of(spec.layers[i], type, page_tokens));
  }
  return groups;
}

int64_t kv_bytes_per_token(const ModelSpec& spec, KvCacheType type) {
  int64_t bytes = 0;
  for (const LayerSpec& layer : spec.layers)
    bytes += shape_of(layer, type, 1).token_bytes();
  return bytes;
}

KvCacheType default_cache_type(const ModelSpec& spec) {
  int64_t page_bytes = 0;
  for (const CacheGroup& group : cache_groups(spec, KvCacheType::kF32, kDefaultPageTokens))
    page_bytes += group.page_bytes;
  constexpr int64_t kSmall = int64_t{32} << 10;
  return page_bytes <= kSmall * kDefaultPageTokens ? KvCacheType::kF32 : KvCacheType::kF16;
}

Result<KvCache> KvCache::create(const ModelSpec& spec, const KvCacheOptions& options) {
  if (!is_page_size(options.page_tokens)) {
    return Status::invalid_argument(
        "a page of {} tokens cannot be had; use a power of two from {} to {}", options.page_tokens,
        kSmallestPageTokens, kLargestPageTokens);
  }
  KvCache cache;
  cache.device_ = options.device;
  cache.type_ = options.type;
  cache.page_tokens_ = options.page_tokens;
  cache.groups_ = cache_groups(spec, options.type, options.page_tokens);
  cache.layers_.resize(spec.layers.size());
  INGOT_CHECK(options.pages_per_group.size() == cache.groups_.size());
  for (size_t i = 0; i < cache.groups_.size(); ++i) {
    const CacheGroup& group = cache.groups_[i];
    Pool& pool = cache.pools_.emplace_back();
    pool.pages = options.pages_per_group[i];
    const CheckedSize total = CheckedSize(pool.pages) * CheckedSize(group.page_bytes);
    const auto fail = [&] {
      return Status::resource_exhausted(
          "no memory for a KV cache of {} tokens ({} MiB); use a smaller --ctx-size or a smaller "
          "--kv-cache-dtype such as fp8, int8 or int4",
          pool.pages * options.page_tokens, total.value_or(UINT64_MAX) >> 20);
    };
    if (!total.fits(uint64_t{1} << 46)) return fail();
    // Not cleared: the kernel hands out zero pages on first touch, and no position is read before
    // written.
    if (group.is_on_device) {
      INGOT_CHECK(options.device != nullptr);
      auto memory = options.device->allocate(*total.value());
      if (!memory.is_ok()) return fail();
      pool.device_memory = *std::move(memory);
    } else {
      pool.memory = allocate_wide(*total.value());
      if (pool.memory == nullptr && *total.value() != 0) return fail();
    }
    int64_t offset = 0;
    for (const int32_t layer : group.layers) {
      const auto index = static_cast<size_t>(layer);
      const PagedKvShape shape = shape_of(spec.layers[index], options.type, options.page_tokens);
      cache.layers_[index] = {i, {shape, pool.data() + offset, group.page_bytes}};
      offset += aligned_bytes(shape);
    }
  }
  return cache;
}

int64_t KvCache::size_bytes() const {
  int64_t bytes = 0;
  for (size_t i = 0; i < groups_.size(); ++i)
    bytes += pools_[i].pages * groups_[i].page_bytes;
  return bytes;
}

std::byte* KvCache::page_at(size_t group, PageId page) const {
  INGOT_CHECK(group < pools_.size() && page >= 0 && page < pools_[group].pages);
  return pools_[group].data() + page * groups_[group].page_bytes;
}

std::span<std::byte> KvCache::page(size_t group, PageId page) {
  std::byte* const data = page_at(group, page);
  INGOT_CHECK(!groups_[group].is_on_device);
  return {data, static_cast<size_t>(groups_[group].page_bytes)};
}

Status KvCache::read_page(size_t group, PageId page, std::span<std::byte> to) const {
  const std::byte* from = page_at(group, page);
  INGOT_CHECK(std::ssize(to) == groups_[group].page_bytes);
  if (groups_[group].is_on_device) return device_->read(from, to);
  std::memcpy(to.data(), from, to.size());
  return Status::ok();
}

Status KvCache::write_page(size_t group, PageId page, std::span<const std::byte> from) {
  std::byte* to = page_at(group, page);
  INGOT_CHECK(std::ssize(from) == groups_[group].page_bytes);
  if (groups_[group].is_on_device) return device_->write(to, from);
  std::memcpy(to, from.data(), from.size());
  return Status::ok();
}

Status KvCache::copy_page(size_t group, PageId from, PageId to) {
  const std::byte* source = page_at(group, from);
  std::byte* target = page_at(group, to);
  const auto bytes = static_cast<size_t>(groups_[group].page_bytes);
  if (from == to) return Status::ok();
  if (groups_[group].is_on_device) return device_->copy(source, target, bytes);
  std::memcpy(target, source, bytes);
  return Status::ok();
}

}  // namespace ingot

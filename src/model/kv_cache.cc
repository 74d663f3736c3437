// SPDX-License-Identifier: Apache-2.0
#include "model/kv_cache.h"

#include <cstdlib>

#include "base/checked.h"

namespace ingot {
namespace {

constexpr int64_t kAlignment = 64;  // a cache line: pages never share one

PagedKvShape shape_of(const LayerSpec& layer, Layout layout) {
  const auto& attention = std::get<AttentionSpec>(layer.mixer);
  return {layout, attention.kv_heads, attention.key_dim, attention.value_dim};
}

}  // namespace

void KvCache::Free::operator()(std::byte* memory) const {
  std::free(memory);  // NOLINT: pairs with aligned_alloc
}

Result<KvCache> KvCache::create(const ModelSpec& spec, int64_t pages, Layout layout) {
  KvCache cache;
  cache.pages_ = pages;
  cache.layout_ = layout;
  std::vector<int64_t> offsets;
  for (const LayerSpec& layer : spec.layers) {
    offsets.push_back(cache.page_stride_);
    const int64_t bytes = shape_of(layer, layout).page_bytes();
    cache.page_stride_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  const CheckedSize total = CheckedSize(pages) * CheckedSize(cache.page_stride_);
  const auto fail = [&] {
    return Status::resource_exhausted(
        "no memory for a KV cache of {} tokens ({} MiB); use a smaller --ctx-size or "
        "--kv-cache-dtype f16",
        pages * kPageTokens, total.value_or(UINT64_MAX) >> 20);
  };
  if (!total.fits(uint64_t{1} << 46)) return fail();
  // Not cleared: the kernel hands out zero pages on first touch, and no position is read before
  // written.
  cache.memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, *total.value())));
  if (cache.memory_ == nullptr && *total.value() != 0) return fail();
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    cache.layers_.push_back(
        {shape_of(spec.layers[i], layout), cache.memory_.get() + offsets[i], cache.page_stride_});
  }
  return cache;
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// The memory of the paged KV cache: a fixed number of pages, each with room for every layer. Who
// owns which page is decided elsewhere (engine/).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "kernels/paged_kv.h"
#include "model/spec.h"

namespace ingot {

class KvCache {
 public:
  // kResourceExhausted, with the numbers, when the memory cannot be had.
  static Result<KvCache> create(const ModelSpec& spec, int64_t pages, Layout layout);

  int64_t pages() const { return pages_; }
  Layout layout() const { return layout_; }
  int64_t size_bytes() const { return pages_ * page_stride_; }
  PagedKv layer(size_t index) const { return layers_[index]; }

 private:
  KvCache() = default;
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte[], Free> memory_;
  std::vector<PagedKv> layers_;
  int64_t pages_ = 0;
  int64_t page_stride_ = 0;
  Layout layout_ = Layout::kF32;
};

}  // namespace ingot

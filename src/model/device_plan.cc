// SPDX-License-Identifier: Apache-2.0
#include "model/device_plan.h"

#include <algorithm>

#include "model/kv_cache.h"

namespace ingot {
namespace {

constexpr uint64_t kReserveBytes = uint64_t{1} << 30;  // for a step's buffers and the libraries

}  // namespace

int64_t layers_that_fit(const Checkpoint& checkpoint, const ModelPlan& plan,
                        const DeviceRoom& room) {
  const auto layers = static_cast<int64_t>(plan.spec.layers.size());
  uint64_t weights = 0;
  for (const TensorEntry* entry : checkpoint.tensors())
    weights += entry->tensor.bytes.size();
  weights += weights / 10;  // packed weights are a little larger than the file's
  const auto cache = static_cast<uint64_t>(room.context) *
                     static_cast<uint64_t>(kv_bytes_per_token(plan.spec, KvCacheType::kF16));
  const uint64_t usable = room.free_bytes > kReserveBytes ? room.free_bytes - kReserveBytes : 0;
  if (weights + cache <= usable) return layers + 1;
  if (layers == 0) return 0;
  // Embedding and head count as layers here, which leaves some room.
  const uint64_t each = (weights + cache) / static_cast<uint64_t>(layers) + 1;
  return std::min<int64_t>(static_cast<int64_t>(usable / each), layers);
}

}  // namespace ingot

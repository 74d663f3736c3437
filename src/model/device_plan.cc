// SPDX-License-Identifier: Apache-2.0
#include "model/device_plan.h"

#include <algorithm>

#include "base/log.h"
#include "model/kv_cache.h"

namespace ingot {
namespace {

constexpr uint64_t kReserveBytes = uint64_t{1} << 30;  // for a step's buffers and the libraries

struct DeviceRoom {
  uint64_t free_bytes = 0;
  int64_t context = 0;  // tokens that the KV cache must hold at least
};

int64_t layers_that_fit(uint64_t weight_bytes, const ModelSpec& spec, const DeviceRoom& room) {
  const auto layers = static_cast<int64_t>(spec.layers.size());
  const uint64_t weights = weight_bytes + weight_bytes / 10;  // packed they are a little larger
  const auto cache = static_cast<uint64_t>(room.context) *
                     static_cast<uint64_t>(kv_bytes_per_token(spec, KvCacheType::kF16));
  const uint64_t usable = room.free_bytes > kReserveBytes ? room.free_bytes - kReserveBytes : 0;
  if (weights + cache <= usable) return layers + 1;
  if (layers == 0) return 0;
  // Embedding and head count as layers here, which leaves some room.
  const uint64_t each = (weights + cache) / static_cast<uint64_t>(layers) + 1;
  return std::min<int64_t>(static_cast<int64_t>(usable / each), layers);
}

}  // namespace

ModelOptions decide_layers(std::string_view name, const ModelSpec& spec, uint64_t weight_bytes,
                           const ModelOptions& options) {
  ModelOptions decided = options;
  if (options.device == nullptr || options.device_layers >= 0) return decided;
  const uint64_t free = options.device->free_bytes();
  decided.device_layers = layers_that_fit(weight_bytes, spec, {free, options.device_context});
  if (decided.device_layers <= std::ssize(spec.layers)) {
    log_warning("{}: {} of {} layers fit into the {} MiB free of {}; the others stay on the CPU",
                name, decided.device_layers, spec.layers.size(), free >> 20,
                options.device->info().name);
  }
  return decided;
}

}  // namespace ingot

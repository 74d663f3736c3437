// SPDX-License-Identifier: Apache-2.0
// How many layers go to a GPU when a model does not fit into it whole.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/model.h"

namespace ingot {

// The options with device_layers decided, where they leave that open: the layers that fit into what
// the device has free, from the last one backwards, each with its part of the KV cache; more than
// there are: everything, embedding and head too. Says so where some stay behind.
ModelOptions decide_layers(std::string_view name, const ModelSpec& spec, uint64_t weight_bytes,
                           const ModelOptions& options);

}  // namespace ingot

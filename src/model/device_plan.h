// SPDX-License-Identifier: Apache-2.0
// How many layers go to a GPU when a model does not fit into it whole.
#pragma once

#include <cstdint>

#include "formats/checkpoint.h"
#include "model/mapper.h"

namespace ingot {

struct DeviceRoom {
  uint64_t free_bytes = 0;
  int64_t context = 0;  // tokens that the KV cache must hold at least
};

// The layers that fit, from the last one backwards, each with its part of the KV cache; more than
// there are: everything, embedding and head too.
int64_t layers_that_fit(const Checkpoint& checkpoint, const ModelPlan& plan,
                        const DeviceRoom& room);

}  // namespace ingot

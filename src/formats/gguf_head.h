// SPDX-License-Identifier: Apache-2.0
// Everything of a GGUF file but its data: where each tensor will stand is known from names and
// shapes alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/gguf_key_values.h"
#include "formats/planned_tensor.h"

namespace ingot {

struct GgufHead {
  std::string bytes;              // padded: the data begins where it ends
  std::vector<uint64_t> offsets;  // of each tensor in the file
  std::vector<uint64_t> sizes;
  uint64_t file_size = 0;
};

// Refuses what the reader would: names, shapes, types and alignments that GGUF cannot hold.
Result<GgufHead> make_gguf_head(const GgufKeyValues& values,
                                std::span<const PlannedTensor> tensors);

}  // namespace ingot

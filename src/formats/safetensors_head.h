// SPDX-License-Identifier: Apache-2.0
// Everything of a safetensors file, or of its shards, but the data: where each tensor will stand is
// known from names and shapes alone.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/planned_tensor.h"

namespace ingot {

struct SafetensorsPart {
  std::string head;               // length and header, padded: the data begins where it ends
  std::vector<size_t> tensors;    // by their number in the plan, as they are stored
  std::vector<uint64_t> offsets;  // of each of them in the file
  uint64_t file_size = 0;
};

// In shards of at most `shard_bytes` in the order given, each filled up before the next begins; a
// tensor larger than that has one of its own. Within a shard wide elements come first, as the
// reference writer has it, so that all are aligned. At least one part, also of no tensors.
Result<std::vector<SafetensorsPart>> plan_safetensors_parts(
    std::span<const PlannedTensor> tensors, const std::map<std::string, std::string>& metadata,
    uint64_t shard_bytes);

// "model-00001-of-00003.safetensors", and the index that names them.
std::string safetensors_shard_name(size_t index, size_t count);
std::string safetensors_index_text(std::span<const PlannedTensor> tensors,
                                   std::span<const SafetensorsPart> parts);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// `ingot convert` without its flags: plans, chooses types, writes and commits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "convert/cast_model.h"
#include "convert/lora.h"
#include "convert/source_tensor.h"

namespace ingot {

struct ConvertOptions {
  std::filesystem::path input;  // as given, for the plan's identity
  std::filesystem::path output;
  bool to_gguf = true;
  std::optional<Layout> type;  // nothing: as in the input
  uint64_t shard_bytes = 0;    // 0: 5 GB of safetensors, one GGUF file
  std::shared_ptr<const LoraAdapter> adapter;
  std::string adapter_identity;
  bool overwrites = false;
};

// Told how far it is, from 0 to 1.
using ConvertProgress = std::function<void(double fraction)>;

struct ConvertReport {
  std::vector<std::string> notes;
  size_t tensors = 0;
  size_t resumed = 0;  // that an earlier, killed run had done
  uint64_t size_bytes = 0;
};

Result<ConvertReport> convert_model(std::shared_ptr<const Checkpoint> input,
                                    const ConvertOptions& options, const ConvertProgress& progress);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// What `inspect` knows of a checkpoint, gathered from its headers: no weight is read. Works for
// architectures this build cannot run; then `unsupported` says so.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "formats/checkpoint.h"
#include "kernels/paged_kv.h"
#include "model/spec.h"

namespace ingot {

struct TypeShare {
  uint64_t tensors = 0;
  uint64_t elements = 0;
  uint64_t bytes = 0;
};

struct InspectReport {
  std::string name;
  std::string format;        // "GGUF" or "safetensors"
  std::string architecture;  // as the checkpoint spells it; empty when it does not say
  std::string unsupported;   // why this build cannot run it; empty when it can
  std::optional<ModelSpec> spec;
  uint64_t parameters = 0;
  uint64_t tensor_bytes = 0;
  uint64_t file_bytes = 0;
  std::map<std::string, TypeShare> types;
  std::vector<std::pair<std::string, std::string>> metadata;  // in the file's order

  double bits_per_weight() const;
  // Of keys and values of one token in all layers; 0 without a spec.
  uint64_t kv_bytes_per_token(KvCacheType type) const;
  // Of the model's whole context; the largest number when it would not fit one.
  uint64_t kv_bytes_full_context(KvCacheType type) const;
};

InspectReport inspect(const Checkpoint& checkpoint);
Json to_json(const InspectReport& report, const Checkpoint& checkpoint);

// For people: summary, metadata, one line per tensor.
std::string describe_summary(const InspectReport& report);
std::string describe_metadata(const InspectReport& report);
std::string describe_tensors(const Checkpoint& checkpoint);

}  // namespace ingot

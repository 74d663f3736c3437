// SPDX-License-Identifier: Apache-2.0
// A mapper turns a checkpoint's own description into ModelSpec and WeightMap. One file per family
// under arch/, one line per architecture in mapper_list.cc.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "formats/checkpoint.h"
#include "model/hf_config.h"
#include "model/quant/quant_config.h"
#include "model/spec.h"
#include "model/weight_map.h"

namespace ingot {

struct ModelPlan {
  ModelSpec spec;
  WeightMap weights;
  QuantConfig quantization;
  bool operator==(const ModelPlan&) const = default;
};

// From Hugging Face: `model_type` of config.json chooses the entry.
struct HfMapper {
  std::string_view model_type;
  Result<ModelPlan> (*map)(const HfConfig& config);
};
std::span<const HfMapper> hf_mappers();
// Chooses by model_type and runs it.
Result<ModelPlan> plan_from_config(const HfConfig& config);

// From GGUF: `general.architecture` chooses the entry. The checkpoint tells which tensors exist.
struct GgufMapper {
  std::string_view architecture;
  Result<ModelPlan> (*map)(const GgufMetadata& metadata, const Checkpoint& checkpoint);
};
std::span<const GgufMapper> gguf_mappers();

// Chooses the mapper and runs it. An unknown architecture is kUnsupported and names those we have.
Result<ModelPlan> plan_model(const Checkpoint& checkpoint);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "model/mapper.h"

namespace ingot {
namespace {

template <class Mapper, class Name>
std::string names_of(std::span<const Mapper> mappers, Name name) {
  std::string text;
  for (const Mapper& mapper : mappers)
    text += (text.empty() ? "" : ", ") + std::string(mapper.*name);
  return text;
}

}  // namespace

Result<ModelPlan> plan_model(const Checkpoint& checkpoint) {
  if (const GgufMetadata* metadata = checkpoint.gguf_metadata()) {
    INGOT_TRY(const std::string_view architecture, metadata->string("general.architecture"));
    const auto mappers = gguf_mappers();
    const auto it = std::ranges::find(mappers, architecture, &GgufMapper::architecture);
    if (it != mappers.end()) return it->map(*metadata, checkpoint);
    return Status::unsupported("{}: architecture '{}' is not supported; supported are: {}",
                               checkpoint.name(), architecture,
                               names_of(mappers, &GgufMapper::architecture));
  }
  INGOT_TRY(const HfConfig config, HfConfig::open(checkpoint.folder() / "config.json"));
  INGOT_TRY(const std::string type, config.string("model_type"));
  const auto mappers = hf_mappers();
  const auto it = std::ranges::find(mappers, type, &HfMapper::model_type);
  if (it != mappers.end()) {
    INGOT_TRY(const QuantConfig quantization, read_quant_config(config, checkpoint.folder()));
    INGOT_TRY(ModelPlan plan, it->map(config));
    plan.quantization = quantization;
    return plan;
  }
  return Status::unsupported("{}: model_type '{}' is not supported; supported are: {}",
                             config.source(), type, names_of(mappers, &HfMapper::model_type));
}

}  // namespace ingot

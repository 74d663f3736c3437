// SPDX-License-Identifier: Apache-2.0
// Small config.json texts for tests: a tiny model of a family with some fields changed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json.h"
#include "model/mapper.h"

namespace ingot {

// 4 layers, 4 heads, 2 kv heads, head dimension 32: in the names most families use. `changes` is a
// JSON object; a null in it removes the field, "null" as a string leaves a null.
inline std::string tiny_config(std::string_view model_type, std::string_view changes = "{}") {
  Json config = Json::parse(R"({
    "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512,
    "max_position_embeddings": 512, "bos_token_id": 1, "eos_token_id": 2})");
  config["model_type"] = model_type;
  config.merge_patch(Json::parse(changes));
  for (auto& [key, value] : config.items()) {
    if (value == "null") value = nullptr;
  }
  return config.dump();
}

inline Result<ModelPlan> plan_text(const std::string& text) {
  INGOT_TRY(const HfConfig config, HfConfig::parse(text, "config.json"));
  return plan_from_config(config);
}

inline Result<ModelPlan> plan_tiny(std::string_view model_type, std::string_view changes = "{}") {
  return plan_text(tiny_config(model_type, changes));
}

}  // namespace ingot

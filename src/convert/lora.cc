// SPDX-License-Identifier: Apache-2.0
#include "convert/lora.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/limits.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPeftPrefix = "base_model.model.";

struct PeftConfig {
  double rank = 0;
  double alpha = 0;
  bool divides_by_root = false;
  Json rank_pattern;
  Json alpha_pattern;

  double scale_of(const std::string& module) const {
    const double own_rank = matched(rank_pattern, module, rank);
    const double own_alpha = matched(alpha_pattern, module, alpha);
    return own_alpha / (divides_by_root ? std::sqrt(own_rank) : own_rank);
  }
  // Patterns name the end of a module.
  static double matched(const Json& pattern, const std::string& module, double fallback) {
    if (!pattern.is_object()) return fallback;
    for (const auto& [key, value] : pattern.items()) {
      const bool is_end = module == key || module.ends_with("." + key);
      if (is_end && value.is_number() && value.get<double>() > 0) return value.get<double>();
    }
    return fallback;
  }
};

Result<double> positive(const Json& json, const char* key, const std::string& file) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number() || !(found->get<double>() > 0))
    return Status::invalid_data("{}: '{}' must be a positive number", file, key);
  return found->get<double>();
}

Result<PeftConfig> read_config(const fs::path& path) {
  INGOT_TRY(const Json json, read_json_file(path));
  const std::string file = path.string();
  if (!json.is_object() || json.value("peft_type", "LORA") != "LORA")
    return Status::unsupported("{}: not the configuration of a LoRA adapter", file);
  const auto flag = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_boolean() && found->get<bool>();
  };
  if (flag("use_dora"))
    return Status::unsupported("{}: DoRA scales whole columns and cannot be merged as LoRA", file);
  PeftConfig config;
  INGOT_TRY(config.rank, positive(json, "r", file));
  INGOT_TRY(config.alpha, positive(json, "lora_alpha", file));
  config.divides_by_root = flag("use_rslora");
  if (json.contains("rank_pattern")) config.rank_pattern = json["rank_pattern"];
  if (json.contains("alpha_pattern")) config.alpha_pattern = json["alpha_pattern"];
  return config;
}

// "a.b.lora_A.default.weight" -> "a.b" with the tail gone; empty when `part` is not in it.
std::string module_of(std::string_view name, std::string_view part) {
  const size_t at = name.find(part);
  return at == std::string_view::npos ? std::string() : std::string(name.substr(0, at));
}

Result<std::vector<float>> floats(const TensorView& view, const std::string& what) {
  if (view.shape.rank() != 2 || view.bytes.size() > limits::kGiB)
    return Status::invalid_data("{}: {} is no low-rank factor", what, view.shape.to_string());
  std::vector<float> values(view.shape.elements().value_or(0));
  dequantize(view.layout, view.bytes, values);
  return values;
}

}  // namespace

Result<std::shared_ptr<const LoraAdapter>> LoraAdapter::open(const fs::path& path, double scale) {
  std::shared_ptr<LoraAdapter> adapter(new LoraAdapter);
  adapter->name_ = path.string();
  std::error_code error;
  const fs::path weights = path / "adapter_model.safetensors";
  INGOT_TRY(const auto checkpoint, Checkpoint::open(fs::exists(weights, error) ? weights : path));
  adapter->is_gguf_ = checkpoint->gguf_metadata() != nullptr;
  INGOT_TRY(adapter->is_gguf_ ? adapter->read_gguf(*checkpoint, scale)
                              : adapter->read_peft(*checkpoint, scale));
  INGOT_TRY(checkpoint->check_intact());
  if (adapter->pairs_.empty())
    return Status::invalid_data("{}: holds no lora_A and lora_B", path.string());
  return std::shared_ptr<const LoraAdapter>(std::move(adapter));
}

Status LoraAdapter::read_peft(const Checkpoint& checkpoint, double scale) {
  INGOT_TRY(const PeftConfig config, read_config(checkpoint.folder() / "adapter_config.json"));
  for (const TensorEntry* entry : checkpoint.tensors()) {
    std::string_view name = entry->name;
    if (name.starts_with(kPeftPrefix)) name.remove_prefix(kPeftPrefix.size());
    if (name.find(".lora_B.") != std::string_view::npos) continue;
    const std::string module = module_of(name, ".lora_A.");
    if (module.empty()) {
      return Status::unsupported("{}: '{}' is neither lora_A nor lora_B of a linear layer", name_,
                                 entry->name);
    }
    std::string other = entry->name;
    other.replace(other.find(".lora_A."), 8, ".lora_B.");
    INGOT_TRY(const TensorView b, checkpoint.tensor(other));
    INGOT_TRY(add_pair(module, entry->tensor, b, scale * config.scale_of(module)));
  }
  return Status::ok();
}

Status LoraAdapter::read_gguf(const Checkpoint& checkpoint, double scale) {
  const GgufMetadata& metadata = *checkpoint.gguf_metadata();
  INGOT_TRY(const std::string_view type, metadata.string("adapter.type"));
  if (type != "lora") return Status::unsupported("{}: adapter.type is '{}'", name_, type);
  INGOT_TRY(const double alpha, metadata.number("adapter.lora.alpha"));
  for (const TensorEntry* entry : checkpoint.tensors()) {
    if (entry->name.ends_with(".lora_b")) continue;
    const std::string module = module_of(entry->name, ".weight.lora_a");
    if (module.empty())
      return Status::unsupported("{}: '{}' is neither lora_a nor lora_b", name_, entry->name);
    INGOT_TRY(const TensorView b, checkpoint.tensor(module + ".weight.lora_b"));
    const double rank = static_cast<double>(b.cols());
    INGOT_TRY(add_pair(module, entry->tensor, b, scale * (alpha == 0 ? 1.0 : alpha / rank)));
  }
  return Status::ok();
}

Status LoraAdapter::add_pair(const std::string& module, const TensorView& a, const TensorView& b,
                             double scale) {
  Pair pair;
  INGOT_TRY(pair.a, floats(a, module));
  INGOT_TRY(pair.b, floats(b, module));
  pair.rank = static_cast<int64_t>(a.rows());
  pair.in = static_cast<int64_t>(a.cols());
  pair.out = static_cast<int64_t>(b.rows());
  if (b.cols() != a.rows()) {
    return Status::invalid_data("{}: '{}' has factors {} and {}, which do not fit", name_, module,
                                a.shape.to_string(), b.shape.to_string());
  }
  for (float& value : pair.b)
    value *= static_cast<float>(scale);
  pairs_.emplace(module, std::move(pair));
  return Status::ok();
}

Status LoraAdapter::add(std::string_view module, int64_t row, std::span<float> values) const {
  const auto found = pairs_.find(module);
  if (found == pairs_.end()) return Status::ok();
  const Pair& pair = found->second;
  if (row >= pair.out || values.size() != static_cast<size_t>(pair.in)) {
    return Status::invalid_data("{}: '{}' is for [{}, {}], not for this model", name_, module,
                                pair.out, pair.in);
  }
  for (int64_t k = 0; k < pair.rank; ++k) {
    const float factor = pair.b[static_cast<size_t>(row * pair.rank + k)];
    const float* from = pair.a.data() + k * pair.in;
    for (size_t i = 0; i < values.size(); ++i)
      values[i] += factor * from[i];
  }
  return Status::ok();
}

std::vector<std::string> LoraAdapter::modules() const {
  std::vector<std::string> names;
  for (const auto& [name, pair] : pairs_)
    names.push_back(name);
  return names;
}

}  // namespace ingot

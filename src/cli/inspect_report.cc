// SPDX-License-Identifier: Apache-2.0
#include "cli/inspect_report.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/checked.h"
#include "model/kv_cache.h"
#include "model/mapper.h"

namespace ingot {
namespace {

Json dims_of(const Shape& shape) {
  Json dims = Json::array();
  for (const uint64_t dim : shape.dims())
    dims.push_back(dim);
  return dims;
}

void read_gguf(const GgufMetadata& metadata, InspectReport& report) {
  const Result<std::string_view> architecture = metadata.string("general.architecture");
  if (architecture.is_ok()) report.architecture = *architecture;
  for (const std::string_view key : metadata.keys())
    report.metadata.emplace_back(key, metadata.describe(key));
}

// config.json, its nested objects kept as JSON text.
void read_config(const std::filesystem::path& folder, InspectReport& report) {
  const Result<Json> config = read_json_file(folder / "config.json");
  if (!config.is_ok() || !config->is_object()) return;
  for (const auto& [key, value] : config->items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : dump_json(value);
    report.metadata.emplace_back(key, text);
    if (key == "model_type") report.architecture = text;
  }
}

}  // namespace

double InspectReport::bits_per_weight() const {
  if (parameters == 0) return 0;
  return static_cast<double>(tensor_bytes) * 8 / static_cast<double>(parameters);
}

uint64_t InspectReport::kv_bytes_per_token(KvCacheType type) const {
  return spec ? static_cast<uint64_t>(ingot::kv_bytes_per_token(*spec, type)) : 0;
}

uint64_t InspectReport::kv_bytes_full_context(KvCacheType type) const {
  if (!spec) return 0;
  const CheckedSize bytes = CheckedSize(kv_bytes_per_token(type)) * CheckedSize(spec->context);
  return bytes.value_or(std::numeric_limits<uint64_t>::max());
}

InspectReport inspect(const Checkpoint& checkpoint) {
  InspectReport report;
  report.name = checkpoint.name();
  report.file_bytes = checkpoint.size_bytes();
  for (const TensorEntry* entry : checkpoint.tensors()) {
    const uint64_t elements = entry->tensor.shape.elements().value_or(0);
    TypeShare& share = report.types[std::string(info(entry->tensor.layout).name)];
    ++share.tensors;
    share.elements += elements;
    share.bytes += entry->tensor.bytes.size();
    report.parameters += elements;
    report.tensor_bytes += entry->tensor.bytes.size();
  }
  if (const GgufMetadata* metadata = checkpoint.gguf_metadata()) {
    report.format = "GGUF";
    read_gguf(*metadata, report);
  } else {
    report.format = "safetensors";
    read_config(checkpoint.folder(), report);
  }
  Result<ModelPlan> plan = plan_model(checkpoint);
  if (plan.is_ok())
    report.spec = std::move(plan->spec);
  else
    report.unsupported = plan.status().message();
  return report;
}

Json to_json(const InspectReport& report, const Checkpoint& checkpoint) {
  Json types = Json::object();
  for (const auto& [name, share] : report.types)
    types[name] = {
        {"tensors", share.tensors}, {"elements", share.elements}, {"bytes", share.bytes}};
  Json json = {{"model", report.name},
               {"format", report.format},
               {"architecture", report.architecture.empty() ? Json() : Json(report.architecture)},
               {"supported", report.spec.has_value()}};
  if (!report.spec) json["reason"] = report.unsupported;
  json["parameters"] = report.parameters;
  json["bits_per_weight"] = report.bits_per_weight();
  json["types"] = std::move(types);
  Json memory = {{"file_bytes", report.file_bytes}, {"weight_bytes", report.tensor_bytes}};
  if (const auto& spec = report.spec) {
    json["layers"] = spec->layers.size();
    json["hidden"] = spec->hidden;
    json["vocab"] = spec->vocab;
    json["context"] = spec->context;
    Json per_token = Json::object();
    Json full_context = Json::object();
    for (const KvCacheType type : kv_cache_types()) {
      per_token[std::string(to_string(type))] = report.kv_bytes_per_token(type);
      full_context[std::string(to_string(type))] = report.kv_bytes_full_context(type);
    }
    memory["kv_bytes_per_token"] = std::move(per_token);
    memory["kv_bytes_full_context"] = std::move(full_context);
  }
  json["memory"] = std::move(memory);
  Json metadata = Json::object();
  for (const auto& [key, value] : report.metadata)
    metadata.get_ref<Json::object_t&>().push_back({key, value});
  json["metadata"] = std::move(metadata);
  Json tensors = Json::array();
  for (const TensorEntry* entry : checkpoint.tensors()) {
    tensors.push_back({{"name", entry->name},
                       {"type", std::string(info(entry->tensor.layout).name)},
                       {"shape", dims_of(entry->tensor.shape)},
                       {"bytes", entry->tensor.bytes.size()},
                       {"offset", entry->file_offset}});
  }
  json["tensors"] = std::move(tensors);
  return json;
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "api/generation_defaults.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/limits.h"

namespace ingot {
namespace {

Status read_float(const Json& config, const char* key, std::string_view source, float& out) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return Status::ok();
  if (!found->is_number()) return Status::invalid_data("{}: '{}' is not a number", source, key);
  const double value = found->get<double>();
  if (!std::isfinite(value) || std::fabs(value) > 1e6)
    return Status::invalid_data("{}: '{}' is {}, out of range", source, key, value);
  out = static_cast<float>(value);
  return Status::ok();
}

Status read_top_k(const Json& config, std::string_view source, int32_t& out) {
  const auto found = config.find("top_k");
  if (found == config.end() || found->is_null()) return Status::ok();
  if (!found->is_number_integer())
    return Status::invalid_data("{}: 'top_k' is not an integer", source);
  const auto value = found->get<int64_t>();
  if (value < -1 || value > limits::kVocab)
    return Status::invalid_data("{}: 'top_k' is {}, out of range", source, value);
  out = value < 0 ? 0 : static_cast<int32_t>(value);  // -1 is off there, 0 is off here
  return Status::ok();
}

Status read_eos(const Json& config, std::string_view source, std::vector<TokenId>& out) {
  const auto found = config.find("eos_token_id");
  if (found == config.end() || found->is_null()) return Status::ok();
  const Json list = found->is_array() ? *found : Json::array({*found});
  for (const Json& id : list) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() >= limits::kVocab)
      return Status::invalid_data("{}: 'eos_token_id' holds {}, not a token id", source,
                                  dump_json(id));
    out.push_back(id.get<TokenId>());
  }
  return Status::ok();
}

Status read_number(const GgufMetadata& metadata, std::string_view key, float& out) {
  if (!metadata.has(key)) return Status::ok();
  INGOT_TRY(const double value, metadata.number(key));
  if (!std::isfinite(value) || std::fabs(value) > 1e6)
    return Status::invalid_data("'{}' is {}, out of range", key, value);
  out = static_cast<float>(value);
  return Status::ok();
}

Status read_integer(const GgufMetadata& metadata, std::string_view key, int32_t& out) {
  if (!metadata.has(key)) return Status::ok();
  INGOT_TRY(const int64_t value, metadata.integer(key));
  if (value < -1 || value > limits::kVocab)
    return Status::invalid_data("'{}' is {}, out of range", key, value);
  out = static_cast<int32_t>(value);
  return Status::ok();
}

Result<GenerationDefaults> from_metadata(const GgufMetadata& metadata) {
  GenerationDefaults defaults;
  SamplingParams& sampling = defaults.sampling;
  INGOT_TRY(read_number(metadata, "general.sampling.temp", sampling.temperature));
  INGOT_TRY(read_number(metadata, "general.sampling.top_p", sampling.top_p));
  INGOT_TRY(read_number(metadata, "general.sampling.min_p", sampling.min_p));
  INGOT_TRY(read_number(metadata, "general.sampling.penalty_repeat", sampling.repetition_penalty));
  INGOT_TRY(read_integer(metadata, "general.sampling.top_k", sampling.top_k));
  INGOT_TRY(read_integer(metadata, "general.sampling.penalty_last_n", sampling.repeat_last_n));
  if (sampling.top_k < 0) sampling.top_k = 0;
  INGOT_TRY(validate(sampling));
  return defaults;
}

}  // namespace

Result<GenerationDefaults> parse_generation_config(const Json& config, std::string_view source) {
  GenerationDefaults defaults;
  if (!config.is_object()) return Status::invalid_data("{}: not a JSON object", source);
  SamplingParams& sampling = defaults.sampling;
  INGOT_TRY(read_float(config, "temperature", source, sampling.temperature));
  INGOT_TRY(read_float(config, "top_p", source, sampling.top_p));
  INGOT_TRY(read_float(config, "min_p", source, sampling.min_p));
  INGOT_TRY(read_float(config, "repetition_penalty", source, sampling.repetition_penalty));
  INGOT_TRY(read_top_k(config, source, sampling.top_k));
  INGOT_TRY(read_eos(config, source, defaults.eos_ids));
  if (const Status status = validate(sampling); !status.is_ok()) return status.with_context(source);
  return defaults;
}

Result<GenerationDefaults> generation_defaults(const Checkpoint& checkpoint) {
  if (const GgufMetadata* metadata = checkpoint.gguf_metadata()) {
    Result<GenerationDefaults> defaults = from_metadata(*metadata);
    if (!defaults.is_ok()) return defaults.status().with_context(checkpoint.name());
    return defaults;
  }
  if (checkpoint.folder().empty()) return GenerationDefaults{};
  const std::filesystem::path file = checkpoint.folder() / "generation_config.json";
  Result<Json> config = read_json_file(file);
  if (!config.is_ok() && config.status().code() == StatusCode::kNotFound)
    return GenerationDefaults{};
  if (!config.is_ok()) return config.status();
  return parse_generation_config(*config, file.string());
}

}  // namespace ingot

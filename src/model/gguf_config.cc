// SPDX-License-Identifier: Apache-2.0
#include "model/gguf_config.h"

#include <cmath>
#include <utility>

namespace ingot {

GgufConfig::GgufConfig(const GgufMetadata& metadata, const Checkpoint& checkpoint,
                       std::string architecture)
    : metadata_(&metadata), checkpoint_(&checkpoint), architecture_(std::move(architecture)) {}

Result<GgufConfig> GgufConfig::open(const GgufMetadata& metadata, const Checkpoint& checkpoint) {
  INGOT_TRY(const std::string_view architecture, metadata.string("general.architecture"));
  return GgufConfig(metadata, checkpoint, std::string(architecture));
}

std::string GgufConfig::full(std::string_view key) const {
  return fmt::format("{}.{}", architecture_, key);
}

Status GgufConfig::error(std::string_view key, std::string_view what) const {
  return Status::invalid_data("{}: key '{}': {}", checkpoint_->name(), full(key), what);
}

Status GgufConfig::unsupported(std::string_view key, std::string_view what) const {
  return Status::unsupported("{}: key '{}': {}", checkpoint_->name(), full(key), what);
}

Status GgufConfig::missing(std::string_view key) const {
  return error(key, "missing; the file is incomplete or not of this architecture");
}

bool GgufConfig::has(std::string_view key) const {
  return metadata_->has(full(key));
}

Result<int64_t> GgufConfig::integer(std::string_view key, Range range) const {
  if (!has(key)) return missing(key);
  INGOT_TRY(const int64_t value, metadata_->integer(full(key)));
  if (value < range.min || value > range.max)
    return error(key, fmt::format("{} is outside [{}, {}]", value, range.min, range.max));
  return value;
}

Result<int64_t> GgufConfig::integer_or(std::string_view key, int64_t fallback, Range range) const {
  if (!has(key)) return fallback;
  return integer(key, range);
}

Result<double> GgufConfig::number(std::string_view key, NumberRange range) const {
  if (!has(key)) return missing(key);
  INGOT_TRY(const double value, metadata_->number(full(key)));
  if (!(value >= range.min && value <= range.max))  // also refuses NaN
    return error(key, fmt::format("{} is outside [{}, {}]", value, range.min, range.max));
  return value;
}

Result<double> GgufConfig::number_or(std::string_view key, double fallback,
                                     NumberRange range) const {
  if (!has(key)) return fallback;
  return number(key, range);
}

Result<bool> GgufConfig::boolean(std::string_view key) const {
  if (!has(key)) return missing(key);
  return metadata_->boolean(full(key));
}

Result<std::string> GgufConfig::string_or(std::string_view key, std::string_view fallback) const {
  if (!has(key)) return std::string(fallback);
  INGOT_TRY(const std::string_view value, metadata_->string(full(key)));
  return std::string(value);
}

bool GgufConfig::holds_list(std::string_view key) const {
  return has(key) && !metadata_->integer(full(key)).is_ok() &&
         metadata_->integers(full(key)).is_ok();
}

Result<std::vector<int64_t>> GgufConfig::per_layer(std::string_view key, int64_t layers,
                                                   Range range) const {
  if (!has(key)) return missing(key);
  INGOT_TRY(std::vector<int64_t> values, metadata_->integers(full(key)));
  for (const int64_t value : values) {
    if (value < range.min || value > range.max)
      return error(key, fmt::format("{} is outside [{}, {}]", value, range.min, range.max));
  }
  // Files with extra prediction layers list those too; they come last.
  const auto wanted = static_cast<size_t>(layers);
  if (values.size() == 1) values.resize(wanted, values.front());
  if (values.size() < wanted)
    return error(key, fmt::format("has {} entries for {} layers", values.size(), layers));
  values.resize(wanted);
  return values;
}

Result<std::vector<int64_t>> GgufConfig::per_layer_or(std::string_view key, int64_t layers,
                                                      std::vector<int64_t> fallback,
                                                      Range range) const {
  if (!has(key)) return fallback;
  return per_layer(key, layers, range);
}

Result<int32_t> GgufConfig::token_id(std::string_view name, int64_t vocab) const {
  const std::string key = fmt::format("tokenizer.ggml.{}", name);
  if (!metadata_->has(key)) return -1;
  INGOT_TRY(const int64_t id, metadata_->integer(key));
  // 2^32 - 1 is how some writers say "none" in an unsigned field.
  if (id == -1 || id == 0xFFFF'FFFF) return -1;
  if (id < 0 || id >= vocab) {
    return Status::invalid_data("{}: key '{}': {} is outside the vocabulary of {}",
                                checkpoint_->name(), key, id, vocab);
  }
  return static_cast<int32_t>(id);
}

bool GgufConfig::has_tensor(std::string_view name) const {
  return checkpoint_->find(name) != nullptr;
}

Result<Shape> GgufConfig::matrix_shape(std::string_view name) const {
  const TensorEntry* entry = checkpoint_->find(name);
  if (entry == nullptr) {
    return Status::invalid_data(
        "{}: tensor '{}' is missing; the file is incomplete or not of this architecture",
        checkpoint_->name(), name);
  }
  if (entry->tensor.shape.rank() != 2) {
    return Status::invalid_data("{}: tensor '{}' has shape {}; it must be a matrix",
                                checkpoint_->name(), name, entry->tensor.shape.to_string());
  }
  return entry->tensor.shape;
}

}  // namespace ingot

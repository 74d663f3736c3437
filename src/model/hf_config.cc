// SPDX-License-Identifier: Apache-2.0
#include "model/hf_config.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/checked.h"

namespace ingot {

HfConfig::HfConfig(std::shared_ptr<const Json> json, std::string source, std::string prefix)
    : json_(std::move(json)), source_(std::move(source)), prefix_(std::move(prefix)) {}

Result<HfConfig> HfConfig::open(const std::filesystem::path& file) {
  INGOT_TRY(Json json, read_json_file(file));
  if (!json.is_object()) return Status::invalid_data("{}: not a JSON object", file.string());
  return HfConfig(std::make_shared<const Json>(std::move(json)), file.string(), "");
}

Result<HfConfig> HfConfig::parse(std::string_view text, std::string_view source) {
  INGOT_TRY(Json json, parse_json(text, source));
  if (!json.is_object()) return Status::invalid_data("{}: not a JSON object", source);
  return HfConfig(std::make_shared<const Json>(std::move(json)), std::string(source), "");
}

const Json* HfConfig::find(std::string_view key) const {
  const auto it = json_->find(std::string(key));
  return it == json_->end() || it->is_null() ? nullptr : &*it;
}

Status HfConfig::error(std::string_view key, std::string_view what) const {
  return Status::invalid_data("{}: field '{}{}': {}", source_, prefix_, key, what);
}

Status HfConfig::unsupported(std::string_view key, std::string_view what) const {
  return Status::unsupported("{}: field '{}{}': {}", source_, prefix_, key, what);
}

bool HfConfig::has(std::string_view key) const {
  return find(key) != nullptr;
}

bool HfConfig::is_null(std::string_view key) const {
  const auto it = json_->find(std::string(key));
  return it != json_->end() && it->is_null();
}

size_t HfConfig::size() const {
  return json_->size();
}

std::vector<std::string> HfConfig::keys() const {
  std::vector<std::string> names;
  for (const auto& item : json_->items())
    names.push_back(item.key());
  return names;
}

bool HfConfig::is_empty() const {
  return json_->empty();
}

std::string_view HfConfig::first_of(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys) {
    if (has(key)) return key;
  }
  return *keys.begin();
}

namespace {

// Whole numbers, also when a tool wrote them as 128.0.
std::optional<int64_t> as_integer(const Json& value) {
  if (value.is_number_unsigned()) return narrow<int64_t>(value.get<uint64_t>());
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  if (number != std::floor(number) || std::fabs(number) > 9e15) return std::nullopt;
  return static_cast<int64_t>(number);
}

}  // namespace

Result<int64_t> HfConfig::integer(std::string_view key, Range range) const {
  const Json* value = find(key);
  if (value == nullptr) return error(key, "missing");
  const std::optional<int64_t> number = as_integer(*value);
  if (!number) return error(key, "must be a whole number");
  if (*number < range.min || *number > range.max) {
    return error(key, fmt::format("{} is outside [{}, {}]", *number, range.min, range.max));
  }
  return *number;
}

Result<int64_t> HfConfig::integer_or(std::string_view key, int64_t fallback, Range range) const {
  if (!has(key)) return fallback;
  return integer(key, range);
}

Result<double> HfConfig::number(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return error(key, "missing");
  if (!value->is_number()) return error(key, "must be a number");
  const double number = value->get<double>();
  if (!std::isfinite(number)) return error(key, "must be finite");
  return number;
}

Result<double> HfConfig::number_or(std::string_view key, double fallback) const {
  if (!has(key)) return fallback;
  return number(key);
}

Result<bool> HfConfig::boolean_or(std::string_view key, bool fallback) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) return error(key, "must be true or false");
  return value->get<bool>();
}

Result<std::string> HfConfig::string(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return error(key, "missing");
  if (!value->is_string()) return error(key, "must be a string");
  return value->get<std::string>();
}

Result<std::string> HfConfig::string_or(std::string_view key, std::string_view fallback) const {
  if (!has(key)) return std::string(fallback);
  return string(key);
}

Result<std::vector<int64_t>> HfConfig::integers(std::string_view key, Range range) const {
  const Json* value = find(key);
  if (value == nullptr) return error(key, "missing");
  std::vector<int64_t> numbers;
  const auto take = [&](const Json& item) -> Status {
    const std::optional<int64_t> number = as_integer(item);
    if (!number || *number < range.min || *number > range.max) {
      return error(key, fmt::format("must hold whole numbers in [{}, {}]", range.min, range.max));
    }
    numbers.push_back(*number);
    return Status::ok();
  };
  if (!value->is_array()) {
    INGOT_TRY(take(*value));
    return numbers;
  }
  for (const Json& item : *value)
    INGOT_TRY(take(item));
  return numbers;
}

Result<std::vector<float>> HfConfig::numbers(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return error(key, "missing");
  if (!value->is_array()) return error(key, "must be a list of numbers");
  std::vector<float> numbers;
  for (const Json& item : *value) {
    if (!item.is_number() || !std::isfinite(item.get<double>()))
      return error(key, "must be a list of numbers");
    numbers.push_back(item.get<float>());
  }
  return numbers;
}

Result<std::vector<std::string>> HfConfig::strings(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return error(key, "missing");
  if (!value->is_array()) return error(key, "must be a list of strings");
  std::vector<std::string> texts;
  for (const Json& item : *value) {
    if (!item.is_string()) return error(key, "must be a list of strings");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

std::optional<HfConfig> HfConfig::object(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_object()) return std::nullopt;
  // Shares ownership of the whole document, points at the nested object.
  return HfConfig(std::shared_ptr<const Json>(json_, value), source_,
                  fmt::format("{}{}.", prefix_, key));
}

}  // namespace ingot

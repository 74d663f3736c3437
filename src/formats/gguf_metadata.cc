// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/byte_reader.h"
#include "formats/gguf.h"
#include "formats/gguf_types.h"
#include "formats/quote_name.h"

namespace ingot {
namespace {

constexpr uint64_t kDescribedElements = 8;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class T>
T load(const GgufValue& value, uint64_t i) {
  T element;
  std::memcpy(&element, value.bytes.subspan(i * sizeof(T), sizeof(T)).data(), sizeof(T));
  return element;
}

// Nothing when a u64 does not fit. Bools count as integers here; the callers decide.
std::optional<int64_t> integer_at(const GgufValue& value, uint64_t i) {
  switch (value.type) {
    case GgufType::kUint8:
    case GgufType::kBool:
      return load<uint8_t>(value, i);
    case GgufType::kInt8:
      return load<int8_t>(value, i);
    case GgufType::kUint16:
      return load<uint16_t>(value, i);
    case GgufType::kInt16:
      return load<int16_t>(value, i);
    case GgufType::kUint32:
      return load<uint32_t>(value, i);
    case GgufType::kInt32:
      return load<int32_t>(value, i);
    case GgufType::kUint64:
      return narrow<int64_t>(load<uint64_t>(value, i));
    case GgufType::kInt64:
      return load<int64_t>(value, i);
    default:
      return std::nullopt;
  }
}

double number_at(const GgufValue& value, uint64_t i) {
  if (value.type == GgufType::kFloat32) return static_cast<double>(load<float>(value, i));
  return load<double>(value, i);
}

// Lengths are checked once more: the mapped file may have changed since it was opened.
Result<std::vector<std::string_view>> strings_of(const GgufValue& value, std::string_view source,
                                                 std::string_view key, uint64_t count) {
  ByteReader reader(value.bytes, source);
  std::vector<std::string_view> strings;
  strings.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    INGOT_TRY(const uint64_t size, reader.read<uint64_t>(key));
    INGOT_TRY(const std::string_view text, reader.text(size, key));
    strings.push_back(text);
  }
  return strings;
}

std::string describe_element(const GgufValue& value, uint64_t i) {
  if (value.type == GgufType::kBool) return *integer_at(value, i) != 0 ? "true" : "false";
  if (is_float(value.type)) return fmt::format("{}", number_at(value, i));
  if (const auto number = integer_at(value, i)) return fmt::format("{}", *number);
  return fmt::format("{}", load<uint64_t>(value, i));
}

}  // namespace

bool GgufMetadata::has(std::string_view key) const {
  return index_.contains(key);
}

Result<const GgufValue*> GgufMetadata::find(std::string_view key) const {
  if (const GgufValue* value = find_value(key)) return value;
  return Status::not_found("{}: no key {}", source_, quote_name(key));
}

const GgufValue* GgufMetadata::find_value(std::string_view key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &values_[found->second].second;
}

Status GgufMetadata::type_error(std::string_view key, const GgufValue& value,
                                std::string_view wanted) const {
  return Status::invalid_data("{}: key {} at offset {}: is {}{}; must be {}", source_,
                              quote_name(key), value.offset, value.is_array ? "an array of " : "",
                              name_of(value.type), wanted);
}

Result<std::string_view> GgufMetadata::string(std::string_view key) const {
  INGOT_TRY(const GgufValue* value, find(key));
  if (value->is_array || value->type != GgufType::kString)
    return type_error(key, *value, "a string");
  return as_text(value->bytes);
}

Result<int64_t> GgufMetadata::integer(std::string_view key) const {
  INGOT_TRY(const GgufValue* value, find(key));
  if (value->is_array || !is_integer(value->type)) return type_error(key, *value, "an integer");
  if (const auto number = integer_at(*value, 0)) return *number;
  return type_error(key, *value, "an integer below 2^63");
}

Result<double> GgufMetadata::number(std::string_view key) const {
  INGOT_TRY(const GgufValue* value, find(key));
  if (value->is_array || !is_float(value->type)) return type_error(key, *value, "f32 or f64");
  return number_at(*value, 0);
}

Result<bool> GgufMetadata::boolean(std::string_view key) const {
  INGOT_TRY(const GgufValue* value, find(key));
  if (value->is_array || value->type != GgufType::kBool) return type_error(key, *value, "a bool");
  return load<uint8_t>(*value, 0) != 0;
}

Result<std::vector<std::string_view>> GgufMetadata::strings(std::string_view key) const {
  INGOT_TRY(const GgufValue* value, find(key));
  if (!value->is_array || value->type != GgufType::kString)
    return type_error(key, *value, "an array of string");
  return strings_of(*value, source_, key, value->count);
}

Result<std::vector<int64_t>> GgufMetadata::integers(std::string_view key) const {
  INGOT_TRY(const GgufValue* value, find(key));
  if (!is_integer(value->type) && value->type != GgufType::kBool) {
    return type_error(key, *value, "an array of integers");
  }
  std::vector<int64_t> numbers(value->count);
  for (uint64_t i = 0; i < value->count; ++i) {
    const auto number = integer_at(*value, i);
    if (!number) return type_error(key, *value, "an array of integers below 2^63");
    numbers[i] = *number;
  }
  return numbers;
}

Result<std::vector<float>> GgufMetadata::numbers(std::string_view key) const {
  INGOT_TRY(const GgufValue* value, find(key));
  if (!value->is_array || !is_float(value->type))
    return type_error(key, *value, "an array of f32 or f64");
  std::vector<float> numbers(value->count);
  for (uint64_t i = 0; i < value->count; ++i)
    numbers[i] = static_cast<float>(number_at(*value, i));
  return numbers;
}

std::vector<std::string_view> GgufMetadata::keys() const {
  std::vector<std::string_view> keys;
  keys.reserve(values_.size());
  for (const auto& [key, value] : values_)
    keys.push_back(key);
  return keys;
}

std::string GgufMetadata::describe(std::string_view key) const {
  const auto found = find(key);
  if (!found.is_ok()) return "";
  const GgufValue& value = **found;
  if (!value.is_array && value.type == GgufType::kString) return quote_name(as_text(value.bytes));
  if (!value.is_array) return describe_element(value, 0);

  std::string out = fmt::format("{}[{}] = [", name_of(value.type), value.count);
  const uint64_t shown = std::min(value.count, kDescribedElements);
  std::vector<std::string_view> texts;
  if (value.type == GgufType::kString) {
    if (auto decoded = strings_of(value, source_, key, shown); decoded.is_ok())
      texts = *std::move(decoded);
  }
  for (uint64_t i = 0; i < shown; ++i) {
    if (i > 0) out += ", ";
    if (value.type != GgufType::kString) {
      out += describe_element(value, i);
    } else if (i < texts.size()) {
      out += quote_name(texts[i]);
    }
  }
  out += shown < value.count ? ", ...]" : "]";
  return out;
}

}  // namespace ingot

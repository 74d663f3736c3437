// SPDX-License-Identifier: Apache-2.0
#include "formats/gguf_key_values.h"

#include <algorithm>

#include "formats/gguf_append.h"

namespace ingot {
namespace {

template <class T>
std::string encode(GgufType type, T value) {
  std::string out;
  gguf_append(out, type);
  gguf_append(out, value);
  return out;
}

std::string array_head(GgufType type, uint64_t count) {
  std::string out;
  gguf_append(out, GgufType::kArray);
  gguf_append(out, type);
  gguf_append(out, count);
  return out;
}

template <class T>
std::string encode_array(GgufType type, const std::vector<T>& values) {
  std::string out = array_head(type, values.size());
  for (const T& value : values)
    gguf_append(out, value);
  return out;
}

}  // namespace

void GgufKeyValues::put(std::string key, std::string encoded) {
  const auto same = std::ranges::find(values_, key, &KeyValue::key);
  if (same != values_.end()) {
    same->encoded = std::move(encoded);
  } else {
    values_.push_back({std::move(key), std::move(encoded)});
  }
}

void GgufKeyValues::set(std::string key, const std::string& value) {
  std::string out;
  gguf_append(out, GgufType::kString);
  gguf_append_string(out, value);
  put(std::move(key), std::move(out));
}

void GgufKeyValues::set(std::string key, bool value) {
  put(std::move(key), encode(GgufType::kBool, static_cast<uint8_t>(value ? 1 : 0)));
}

void GgufKeyValues::set(std::string key, uint16_t value) {
  put(std::move(key), encode(GgufType::kUint16, value));
}

void GgufKeyValues::set(std::string key, uint32_t value) {
  put(std::move(key), encode(GgufType::kUint32, value));
}

void GgufKeyValues::set(std::string key, int32_t value) {
  put(std::move(key), encode(GgufType::kInt32, value));
}

void GgufKeyValues::set(std::string key, uint64_t value) {
  put(std::move(key), encode(GgufType::kUint64, value));
}

void GgufKeyValues::set(std::string key, float value) {
  put(std::move(key), encode(GgufType::kFloat32, value));
}

void GgufKeyValues::set(std::string key, const std::vector<std::string>& values) {
  std::string out = array_head(GgufType::kString, values.size());
  for (const std::string& value : values)
    gguf_append_string(out, value);
  put(std::move(key), std::move(out));
}

void GgufKeyValues::set(std::string key, const std::vector<bool>& values) {
  std::string out = array_head(GgufType::kBool, values.size());
  for (const bool value : values)
    gguf_append(out, static_cast<uint8_t>(value ? 1 : 0));
  put(std::move(key), std::move(out));
}

void GgufKeyValues::set(std::string key, const std::vector<int32_t>& values) {
  put(std::move(key), encode_array(GgufType::kInt32, values));
}

void GgufKeyValues::set(std::string key, const std::vector<uint32_t>& values) {
  put(std::move(key), encode_array(GgufType::kUint32, values));
}

void GgufKeyValues::set(std::string key, const std::vector<float>& values) {
  put(std::move(key), encode_array(GgufType::kFloat32, values));
}

void GgufKeyValues::set(std::string key, const std::vector<uint8_t>& values) {
  put(std::move(key), encode_array(GgufType::kUint8, values));
}

void GgufKeyValues::set(std::string key, const GgufValue& value) {
  std::string out;
  if (value.is_array) {
    out = array_head(value.type, value.count);
  } else {
    gguf_append(out, value.type);
    if (value.type == GgufType::kString) gguf_append<uint64_t>(out, value.bytes.size());
  }
  out.append(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
  put(std::move(key), std::move(out));
}

void GgufKeyValues::copy(const GgufMetadata& metadata) {
  for (const std::string_view key : metadata.keys())
    set(std::string(key), *metadata.find_value(key));
}

void GgufKeyValues::erase(std::string_view key) {
  std::erase_if(values_, [&](const KeyValue& value) { return value.key == key; });
}

bool GgufKeyValues::has(std::string_view key) const {
  return std::ranges::find(values_, key, &KeyValue::key) != values_.end();
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// The key-values of a GGUF file to be written, in order, each kept as its bytes in the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf.h"

namespace ingot {

// A value. Setting a key again replaces its value in place.
class GgufKeyValues {
 public:
  struct KeyValue {
    std::string key;
    std::string encoded;  // type and value, as in the file
  };

  void set(std::string key, const std::string& value);
  void set(std::string key, const char* value) { set(std::move(key), std::string(value)); }
  void set(std::string key, bool value);
  void set(std::string key, uint16_t value);
  void set(std::string key, uint32_t value);
  void set(std::string key, int32_t value);
  void set(std::string key, uint64_t value);
  void set(std::string key, float value);
  void set(std::string key, const std::vector<std::string>& values);
  void set(std::string key, const std::vector<bool>& values);
  void set(std::string key, const std::vector<int32_t>& values);
  void set(std::string key, const std::vector<uint32_t>& values);
  void set(std::string key, const std::vector<float>& values);
  void set(std::string key, const std::vector<uint8_t>& values);
  // As it stands in another file, whatever its type.
  void set(std::string key, const GgufValue& value);
  // All of a file, in its order.
  void copy(const GgufMetadata& metadata);
  void erase(std::string_view key);
  bool has(std::string_view key) const;
  std::span<const KeyValue> entries() const { return values_; }

 private:
  void put(std::string key, std::string encoded);
  std::vector<KeyValue> values_;
};

}  // namespace ingot

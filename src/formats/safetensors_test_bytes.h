// SPDX-License-Identifier: Apache-2.0
// For tests: safetensors bytes from a header as written and any data.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "formats/safetensors.h"

namespace ingot {

inline std::string safetensors_bytes(std::string_view header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  bytes += header;
  for (size_t i = 0; i < data_bytes; ++i)
    bytes.push_back(static_cast<char>(i * 7));
  return bytes;
}

// The views in the result point into `bytes`.
inline Result<std::shared_ptr<const SafetensorsFile>> parse_safetensors(std::string_view bytes) {
  return SafetensorsFile::parse(
      MappedFile::from_memory(std::as_bytes(std::span(bytes)), "model.safetensors"));
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// Any bytes as a safetensors file: refused, or its tensors cover exactly the bytes after the
// header.
#include <cstdint>

#include "formats/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto file = ingot::SafetensorsFile::parse(ingot::MappedFile::from_memory(bytes, "fuzz"));
  if (!file.is_ok()) return 0;
  size_t covered = 0;
  size_t sum = 0;
  for (const ingot::TensorEntry& entry : (*file)->tensors()) {
    covered += entry.tensor.bytes.size();
    sum += entry.tensor.rows() + entry.tensor.row_bytes();
    for (const std::byte byte : entry.tensor.bytes)
      sum += static_cast<size_t>(byte);
  }
  INGOT_CHECK(covered < size);
  return sum == SIZE_MAX ? -1 : 0;
}

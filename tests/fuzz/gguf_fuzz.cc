// SPDX-License-Identifier: Apache-2.0
// Any bytes as a GGUF file: refused, or everything it hands out can be used.
#include <cstdint>

#include "formats/checkpoint.h"

namespace {

size_t use(const ingot::Checkpoint& checkpoint) {
  size_t sum = 0;
  const ingot::GgufMetadata& metadata = *checkpoint.gguf_metadata();
  for (const std::string_view key : metadata.keys()) {
    sum += metadata.describe(key).size();
    if (const auto strings = metadata.strings(key); strings.is_ok()) {
      for (const std::string_view text : *strings)
        sum += text.empty() ? 0 : static_cast<uint8_t>(text.back());
    }
    if (const auto integers = metadata.integers(key); integers.is_ok()) sum += integers->size();
    if (const auto numbers = metadata.numbers(key); numbers.is_ok()) sum += numbers->size();
  }
  for (const ingot::TensorEntry* entry : checkpoint.tensors()) {
    INGOT_CHECK(checkpoint.find(entry->name) == entry);
    sum += entry->tensor.rows() + entry->tensor.row_bytes();
    sum += static_cast<size_t>(entry->tensor.bytes.front()) +
           static_cast<size_t>(entry->tensor.bytes.back());
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto file = ingot::GgufFile::parse(ingot::MappedFile::from_memory(bytes, "fuzz.gguf"));
  if (!file.is_ok()) return 0;
  const auto checkpoint = ingot::Checkpoint::from_gguf(*file);
  INGOT_CHECK(checkpoint.is_ok());
  use(**checkpoint);
  return 0;
}

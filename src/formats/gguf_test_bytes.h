// SPDX-License-Identifier: Apache-2.0
// For tests: GGUF bytes put together field by field, so that any field can be wrong.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "formats/gguf.h"

namespace ingot {

// Appends; nothing is checked. Single thread.
class GgufBytes {
 public:
  template <class T>
  GgufBytes& put(T value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    data.append(bytes, sizeof(T));
    return *this;
  }
  GgufBytes& raw(std::string_view bytes) {
    data.append(bytes);
    return *this;
  }
  GgufBytes& text(std::string_view text) { return put<uint64_t>(text.size()).raw(text); }
  GgufBytes& header(uint64_t tensors, uint64_t key_values, uint32_t version = 3) {
    return raw("GGUF").put(version).put(tensors).put(key_values);
  }
  GgufBytes& key(std::string_view name, GgufType type) { return text(name).put(type); }
  GgufBytes& array(std::string_view name, GgufType element, uint64_t count) {
    return key(name, GgufType::kArray).put(element).put(count);
  }
  // Dimensions in the file's order, innermost first.
  GgufBytes& tensor(std::string_view name, std::initializer_list<uint64_t> dims, uint32_t type,
                    uint64_t offset) {
    text(name).put(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims)
      put(dim);
    return put(type).put(offset);
  }
  GgufBytes& pad(size_t alignment = 32) {
    data.resize((data.size() + alignment - 1) / alignment * alignment, '\0');
    return *this;
  }
  GgufBytes& zeros(size_t count) { return raw(std::string(count, '\0')); }

  // The views in the result point into `data`.
  Result<std::shared_ptr<const GgufFile>> parse() const { return parse_gguf(data); }
  static Result<std::shared_ptr<const GgufFile>> parse_gguf(std::string_view bytes) {
    return GgufFile::parse(MappedFile::from_memory(std::as_bytes(std::span(bytes)), "model.gguf"));
  }

  std::string data;
};

// A small valid file with every kind of field: the start of most hostile ones.
inline GgufBytes small_gguf(uint32_t version = 3) {
  GgufBytes bytes;
  bytes.header(3, 6, version);
  bytes.key("general.architecture", GgufType::kString).text("llama");
  bytes.key("general.alignment", GgufType::kUint32).put<uint32_t>(32);
  bytes.key("llama.rope.freq_base", GgufType::kFloat32).put(10000.0f);
  bytes.key("flag", GgufType::kBool).put<uint8_t>(1);
  bytes.array("tokens", GgufType::kString, 3).text("a").text("").text("ccc");
  bytes.array("types", GgufType::kInt32, 3).put<int32_t>(1).put<int32_t>(-2).put<int32_t>(3);
  bytes.tensor("token_embd.weight", {4, 3}, 0, 0);
  bytes.tensor("blk.0.attn_q.weight", {256, 2}, 12, 64);
  bytes.tensor("norm", {5}, 1, 352);
  bytes.pad();
  for (int i = 0; i < 362; ++i)
    bytes.put(static_cast<uint8_t>(i * 7));
  return bytes;
}

}  // namespace ingot

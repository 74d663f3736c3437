// SPDX-License-Identifier: Apache-2.0
// For tests: a two-layer GGUF model in memory whose keys and tensors can be changed one by one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/gguf_test_bytes.h"
#include "model/mapper.h"

namespace ingot {

// Keys without a dot in front get the architecture's prefix. Single thread.
class TinyGguf {
 public:
  explicit TinyGguf(std::string architecture) : architecture_(std::move(architecture)) {
    set("context_length", 512U).set("embedding_length", 8U).set("block_count", 2U);
    set("feed_forward_length", 16U).set("attention.head_count", 4U);
    set("attention.head_count_kv", 2U);
    set("attention.layer_norm_rms_epsilon", 1e-6F).set("attention.layer_norm_epsilon", 1e-5F);
    add("token_embd.weight", {32, 8});
  }
  TinyGguf& set(std::string_view key, uint32_t value) {
    return put(key, GgufType::kUint32, GgufBytes().put(value).data);
  }
  TinyGguf& set(std::string_view key, int64_t value) {
    return put(key, GgufType::kInt64, GgufBytes().put(value).data);
  }
  TinyGguf& set(std::string_view key, float value) {
    return put(key, GgufType::kFloat32, GgufBytes().put(value).data);
  }
  TinyGguf& set(std::string_view key, bool value) {
    return put(key, GgufType::kBool, GgufBytes().put(uint8_t{value}).data);
  }
  TinyGguf& set(std::string_view key, const char* value) {
    return put(key, GgufType::kString, GgufBytes().text(value).data);
  }
  TinyGguf& set(std::string_view key, const std::vector<uint32_t>& values) {
    GgufBytes bytes;
    bytes.put(GgufType::kUint32).put<uint64_t>(values.size());
    for (const uint32_t value : values)
      bytes.put(value);
    return put(key, GgufType::kArray, bytes.data);
  }
  TinyGguf& drop(std::string_view key) {
    values_.erase(full(key));
    return *this;
  }
  // Outermost dimension first, as everywhere but in the file.
  TinyGguf& add(std::string name, std::vector<uint64_t> shape) {
    tensors_[std::move(name)] = std::move(shape);
    return *this;
  }
  TinyGguf& drop_tensor(const std::string& name) {
    tensors_.erase(name);
    return *this;
  }
  Result<ModelPlan> plan() const {
    const std::string bytes = encode();
    INGOT_TRY(const auto file, GgufBytes::parse_gguf(bytes));
    INGOT_TRY(const auto checkpoint, Checkpoint::from_gguf(file));
    for (const GgufMapper& mapper : gguf_mappers()) {
      if (mapper.architecture == architecture_) return mapper.map(file->metadata(), *checkpoint);
    }
    return Status::unsupported("no mapper for '{}'", architecture_);
  }

 private:
  std::string full(std::string_view key) const {
    const bool is_whole = key.starts_with("tokenizer.") || key.starts_with("general.");
    return is_whole ? std::string(key) : architecture_ + "." + std::string(key);
  }
  TinyGguf& put(std::string_view key, GgufType type, const std::string& value) {
    values_[full(key)] = GgufBytes().put(type).raw(value).data;
    return *this;
  }
  std::string encode() const {
    GgufBytes bytes;
    bytes.header(tensors_.size(), values_.size() + 1);
    bytes.key("general.architecture", GgufType::kString).text(architecture_);
    for (const auto& [key, value] : values_)
      bytes.text(key).raw(value);
    uint64_t offset = 0;
    for (const auto& [name, shape] : tensors_) {
      bytes.text(name).put(static_cast<uint32_t>(shape.size()));
      uint64_t size = sizeof(float);
      for (auto dim = shape.rbegin(); dim != shape.rend(); ++dim) {
        bytes.put(*dim);
        size *= *dim;
      }
      bytes.put(uint32_t{0}).put(offset);  // F32
      offset += (size + 31) / 32 * 32;
    }
    bytes.pad().zeros(offset);
    return bytes.data;
  }

  std::string architecture_;
  std::map<std::string, std::string> values_;
  std::map<std::string, std::vector<uint64_t>> tensors_;
};

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// For tests of quantized formats: the tensors of one weight, written by hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "model/quant/quant_module.h"

namespace ingot {

inline Result<QuantConfig> config_of(const std::string& quantization) {
  const auto config =
      HfConfig::parse(R"({"quantization_config": )" + quantization + "}", "config.json");
  EXPECT_TRUE(config.is_ok());
  return read_quant_config(*config);
}

// The tensors of one weight, by suffix.
class Tensors {
 public:
  void add(const std::string& suffix, Layout layout, Shape shape, int fill = 0) {
    const uint64_t size = storage_bytes(layout, shape.elements()).value_or(0);
    std::vector<std::byte>& bytes = bytes_[suffix];
    bytes.assign(size, static_cast<std::byte>(fill));
    entries_[suffix] = {suffix, {layout, shape, bytes}, 0};
  }
  // With these bytes, or as many of them as fit.
  template <class Value>
  void add_values(const std::string& suffix, Layout layout, Shape shape,
                  const std::vector<Value>& values) {
    add(suffix, layout, shape);
    std::vector<std::byte>& to = bytes_[suffix];
    std::memcpy(to.data(), values.data(), std::min(to.size(), values.size() * sizeof(Value)));
  }
  std::vector<std::byte>& bytes(const std::string& suffix) { return bytes_[suffix]; }
  void name(const std::string& name) { name_ = name; }
  void drop(const std::string& suffix) { entries_.erase(suffix); }

  Result<std::optional<QuantTensor>> read(const QuantConfig& config, int64_t cols) const {
    return read_quant_weight(module(), config, cols);
  }
  Result<std::vector<QuantTensor>> experts(const std::string& stem, int64_t cols) const {
    return read_mxfp4_experts(module(), stem, cols);
  }
  void expect_refused(const QuantConfig& config, int64_t cols, const std::string& what) const {
    const auto tensor = read(config, cols);
    const Status status =
        tensor.is_ok() && tensor->has_value() ? (*tensor)->check() : tensor.status();
    ASSERT_FALSE(status.is_ok());
    EXPECT_THAT(status.message(), testing::HasSubstr(what));
  }

  // A row of what is read.
  std::vector<float> row(const QuantConfig& config, int64_t cols, int64_t index) const {
    const auto tensor = read(config, cols);
    EXPECT_TRUE(tensor.is_ok() && tensor->has_value()) << tensor.status().message();
    if (!tensor.is_ok() || !tensor->has_value()) return {};
    EXPECT_TRUE((*tensor)->check().is_ok()) << (*tensor)->check().message();
    std::vector<float> values(static_cast<size_t>(cols));
    dequantize_row(**tensor, index, values);
    return values;
  }

 private:
  QuantModule module() const {
    return QuantModule("model.safetensors", name_,
                       [this](std::string_view suffix) -> Result<const TensorEntry*> {
                         const auto it = entries_.find(std::string(suffix));
                         return it == entries_.end() ? nullptr : &it->second;
                       });
  }

  std::string name_ = "up";
  std::map<std::string, TensorEntry> entries_;
  std::map<std::string, std::vector<std::byte>> bytes_;
};

}  // namespace ingot

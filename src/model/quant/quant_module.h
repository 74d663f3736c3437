// SPDX-License-Identifier: Apache-2.0
// The tensors that stand for one quantized weight ("model.layers.0.mlp.up_proj" and its qweight,
// scales, ...), and one reader for each format of them. Every shape is checked against the others
// before a byte is read.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/tensor_entry.h"
#include "model/quant/quant_config.h"
#include "tensor/quant_tensor.h"

namespace ingot {

class QuantModule {
 public:
  // Finds NAME + suffix; null when it is absent. A tensor that is found counts as used.
  using Find = std::function<Result<const TensorEntry*>(std::string_view suffix)>;
  QuantModule(std::string file, std::string name, Find find)
      : file_(std::move(file)), name_(std::move(name)), find_(std::move(find)) {}

  // An empty view's layout means absent.
  Result<const TensorView*> find(std::string_view suffix) const;  // null: absent
  // There, and of one of these layouts.
  Result<const TensorView*> tensor(std::string_view suffix,
                                   std::initializer_list<Layout> layouts) const;
  // A tensor's values as floats.
  Result<std::vector<float>> floats(std::string_view suffix) const;
  // A tensor that is there to be ignored.
  Status skip(std::string_view suffix) const;

  Status error(std::string_view what) const;
  Status shape_error(std::string_view suffix, const TensorView& found,
                     std::string_view wanted) const;
  const std::string& name() const { return name_; }

 private:
  std::string file_;
  std::string name_;
  Find find_;
};

// Nothing where the module is not quantized (it has plain weights). `cols` is what the architecture
// says.
using QuantReader = Result<std::optional<QuantTensor>> (*)(const QuantModule& module,
                                                           const QuantConfig& config, int64_t cols);
Result<std::optional<QuantTensor>> read_gptq_weight(const QuantModule& module,
                                                    const QuantConfig& config, int64_t cols);
Result<std::optional<QuantTensor>> read_awq_weight(const QuantModule& module,
                                                   const QuantConfig& config, int64_t cols);
Result<std::optional<QuantTensor>> read_bitsandbytes_weight(const QuantModule& module,
                                                            const QuantConfig& config,
                                                            int64_t cols);
Result<std::optional<QuantTensor>> read_fp8_weight(const QuantModule& module,
                                                   const QuantConfig& config, int64_t cols);
Result<std::optional<QuantTensor>> read_compressed_weight(const QuantModule& module,
                                                          const QuantConfig& config, int64_t cols);

// By config.method.
Result<std::optional<QuantTensor>> read_quant_weight(const QuantModule& module,
                                                     const QuantConfig& config, int64_t cols);

// [rows][groups] from [groups][rows].
template <class Value>
std::vector<Value> transposed(const std::vector<Value>& from, int64_t groups, int64_t rows) {
  std::vector<Value> to(from.size());
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t r = 0; r < rows; ++r)
      to[static_cast<size_t>(r * groups + g)] = from[static_cast<size_t>(g * rows + r)];
  }
  return to;
}

}  // namespace ingot

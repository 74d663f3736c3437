// SPDX-License-Identifier: Apache-2.0
// The tensors that stand for one quantized weight ("model.layers.0.mlp.up_proj" and its qweight,
// scales, ...), and one reader for each format of them. Every shape is checked against the others
// before a byte is read.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
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
      : file_(std::move(file)), names_{std::move(name)}, find_(std::move(find)) {}
  // Of a module that may have other names in the file; the first is ours.
  QuantModule(std::string file, std::vector<std::string> names, Find find)
      : file_(std::move(file)), names_(std::move(names)), find_(std::move(find)) {}

  Result<const TensorView*> find(std::string_view suffix) const;  // null: absent
  // There, and of one of these layouts.
  Result<const TensorView*> tensor(std::string_view suffix,
                                   std::initializer_list<Layout> layouts) const;
  // A tensor's values as floats; bytes without a type of their own are exponents (E8M0).
  Result<std::vector<float>> floats(std::string_view suffix) const;
  // The first of these that is there; the first of all where none is.
  Result<std::string_view> first_of(std::initializer_list<std::string_view> suffixes) const;
  // The one positive number of a tensor; of several the largest.
  Result<float> positive(std::string_view suffix) const;
  // A tensor that is there to be ignored.
  Status skip(std::string_view suffix) const;

  Status error(std::string_view what) const;
  Status shape_error(std::string_view suffix, const TensorView& found,
                     std::string_view wanted) const;
  const std::string& name() const { return names_.front(); }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::string file_;
  std::vector<std::string> names_;
  Find find_;
};

// Nothing where the module is not quantized (it has plain weights). `cols` is what the architecture
// says.
using QuantReader = Result<std::optional<QuantTensor>> (*)(const QuantModule& module,
                                                           const WeightQuant& quant, int64_t cols);
Result<std::optional<QuantTensor>> read_gptq_weight(const QuantModule& module,
                                                    const WeightQuant& quant, int64_t cols);
Result<std::optional<QuantTensor>> read_awq_weight(const QuantModule& module,
                                                   const WeightQuant& quant, int64_t cols);
Result<std::optional<QuantTensor>> read_bitsandbytes_weight(const QuantModule& module,
                                                            const WeightQuant& quant, int64_t cols);
Result<std::optional<QuantTensor>> read_fp8_weight(const QuantModule& module,
                                                   const WeightQuant& quant, int64_t cols);
Result<std::optional<QuantTensor>> read_nvfp4_weight(const QuantModule& module,
                                                     const WeightQuant& quant, int64_t cols);
Result<std::optional<QuantTensor>> read_compressed_weight(const QuantModule& module,
                                                          const WeightQuant& quant, int64_t cols);

// By what the config says of this module.
Result<std::optional<QuantTensor>> read_quant_weight(const QuantModule& module,
                                                     const QuantConfig& config, int64_t cols);

// The experts of a module ("model.layers.0.mlp.experts") of gpt-oss, whose tensors are `stem` and
// _blocks or _scales (".gate_up_proj", ".down_proj"). Rows of gate and up take turns.
Result<std::vector<QuantTensor>> read_mxfp4_experts(const QuantModule& module,
                                                    const std::string& stem, int64_t cols);

// How a weight's inputs are rounded, with the scale that stands beside it where there is one.
Result<InputQuant> read_input_quant(const QuantModule& module, const WeightQuant& quant);

// Columns that name their groups: sorted by group where they are not, in which case every group
// must fill its columns. Zeros only, or nothing but -1, mean that no column has moved.
Status read_column_order(const QuantModule& module, std::string_view suffix, QuantTensor& tensor);

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

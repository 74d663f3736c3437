// SPDX-License-Identifier: Apache-2.0
// FP8 (E4M3, seldom E5M2) weights [rows, cols] with a scale for the tensor, for each row, or for
// each block of rows and columns (weight_scale_inv: multiplied all the same).
#include "model/quant/quant_module.h"

namespace ingot {
namespace {

struct Blocks {
  int64_t rows;
  int64_t cols;
};

Result<std::vector<float>> spread(const QuantModule& module, const std::vector<float>& scales,
                                  const QuantTensor& tensor, const Blocks& block) {
  const int64_t across = (tensor.cols + block.cols - 1) / block.cols;
  const int64_t down = (tensor.rows + block.rows - 1) / block.rows;
  if (scales.size() != static_cast<size_t>(across * down)) {
    return module.error(fmt::format("{} scales where blocks of [{}, {}] need {}", scales.size(),
                                    block.rows, block.cols, across * down));
  }
  std::vector<float> all;
  all.reserve(static_cast<size_t>(tensor.rows * across));
  for (int64_t row = 0; row < tensor.rows; ++row) {
    for (int64_t i = 0; i < across; ++i)
      all.push_back(scales[static_cast<size_t>(row / block.rows * across + i)]);
  }
  return all;
}

}  // namespace

Result<std::optional<QuantTensor>> read_fp8_weight(const QuantModule& module,
                                                   const WeightQuant& quant, int64_t cols) {
  INGOT_TRY(const TensorView* codes, module.find(".weight"));
  const bool is_e5m2 = codes != nullptr && codes->layout == Layout::kF8_E5M2;
  if (codes == nullptr || (codes->layout != Layout::kF8_E4M3 && !is_e5m2))
    return std::optional<QuantTensor>();
  if (codes->shape.rank() != 2 || codes->rows() == 0 ||
      codes->cols() != static_cast<uint64_t>(cols))
    return module.shape_error(".weight", *codes, fmt::format("[rows, {}]", cols));
  INGOT_TRY(module.skip(".weight_zero_point"));
  INGOT_TRY(const std::string_view name,
            module.first_of({".weight_scale", ".weight_scale_inv", ".qscale_weight"}));
  INGOT_TRY(const std::vector<float> scales, module.floats(name));
  QuantTensor tensor;
  tensor.rows = static_cast<int64_t>(codes->rows());
  tensor.cols = cols;
  tensor.codes = codes->bytes;
  Blocks block{quant.block_rows, quant.block_cols};
  if (scales.size() == 1) {
    block = {tensor.rows, cols};
  } else if (quant.block_rows == 0) {
    block = {1, cols};
  }
  tensor.scheme = {is_e5m2 ? CodeMeaning::kE5m2 : CodeMeaning::kE4m3, CodeOrder::kRows, 8,
                   block.cols < cols ? block.cols : cols};
  INGOT_TRY(tensor.scales, spread(module, scales, tensor, block));
  INGOT_TRY(tensor.input, read_input_quant(module, quant));
  return std::optional(std::move(tensor));
}

}  // namespace ingot

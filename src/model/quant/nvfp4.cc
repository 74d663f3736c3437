// SPDX-License-Identifier: Apache-2.0
// NVFP4: nibbles [rows, cols / 2], the low ones first, e4m3 scales [rows, cols / 16] and one number
// for the whole tensor: compressed-tensors (weight_packed, weight_global_scale) divides by it,
// ModelOpt (weight, weight_scale_2) multiplies. Inputs stay as they are: rounding them to four bits
// is for hardware that gains by it.
#include "model/quant/quant_module.h"

namespace ingot {
namespace {

constexpr int64_t kNvfp4Group = 16;

}  // namespace

Result<std::optional<QuantTensor>> read_nvfp4_weight(const QuantModule& module, const WeightQuant&,
                                                     int64_t cols) {
  INGOT_TRY(const TensorView* packed, module.find(".weight_packed"));
  INGOT_TRY(const TensorView* scale, module.find(".weight_scale"));
  if (packed == nullptr && scale == nullptr) return std::optional<QuantTensor>();
  const bool is_divided = packed != nullptr;
  const char* suffix = is_divided ? ".weight_packed" : ".weight";
  INGOT_TRY(const TensorView* codes, module.tensor(suffix, {Layout::kU8, Layout::kF4_E2M1}));
  // As F4 a tensor's shape counts values, as bytes it counts bytes.
  const int64_t width = codes->layout == Layout::kU8 ? cols / 2 : cols;
  if (cols % kNvfp4Group != 0 || codes->shape.rank() != 2 ||
      codes->cols() != static_cast<uint64_t>(width))
    return module.shape_error(suffix, *codes, fmt::format("[rows, {}]", width));
  const uint64_t groups = static_cast<uint64_t>(cols / kNvfp4Group);
  INGOT_TRY(scale, module.tensor(".weight_scale", {Layout::kF8_E4M3}));
  if (scale->shape != Shape{codes->rows(), groups})
    return module.shape_error(".weight_scale", *scale,
                              fmt::format("[{}, {}]", codes->rows(), groups));
  QuantTensor tensor;
  tensor.scheme = {CodeMeaning::kE2m1, CodeOrder::kRows, 4, kNvfp4Group};
  tensor.rows = static_cast<int64_t>(codes->rows());
  tensor.cols = cols;
  tensor.codes = codes->bytes;
  INGOT_TRY(const float whole,
            module.positive(is_divided ? ".weight_global_scale" : ".weight_scale_2"));
  INGOT_TRY(tensor.scales, module.floats(".weight_scale"));
  for (float& value : tensor.scales)
    value = is_divided ? value / whole : value * whole;
  tensor.tensor_scale = is_divided ? 1 / whole : whole;
  INGOT_TRY(tensor.input, read_input_quant(module, {}));
  return std::optional(std::move(tensor));
}

}  // namespace ingot

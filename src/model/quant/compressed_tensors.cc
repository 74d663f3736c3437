// SPDX-License-Identifier: Apache-2.0
// compressed-tensors. Packed integers: weight_packed [rows, cols * bits / 32] in words, row by row,
// weight_scale [rows, groups], and zero points packed along the rows, [rows * bits / 32, groups].
// MXFP4: weight_packed [rows, cols / 2] in bytes, exponents [rows, cols / 32]. Plain integers:
// weight [rows, cols] as signed bytes.
#include <cstring>

#include "base/float_types.h"
#include "model/quant/quant_module.h"

namespace ingot {
namespace {

Status read_scales(const QuantModule& module, QuantTensor& tensor) {
  INGOT_TRY(const TensorView* found, module.find(".weight_scale"));
  if (found == nullptr) return module.error("tensor '.weight_scale' is missing");
  if (found->layout == Layout::kU8) {  // exponents
    for (const std::byte exponent : found->bytes)
      tensor.scales.push_back(to_float(Float8E8M0{std::to_integer<uint8_t>(exponent)}));
  } else {
    INGOT_TRY(tensor.scales, module.floats(".weight_scale"));
  }
  if (tensor.scales.size() == 1)
    tensor.scales.assign(static_cast<size_t>(tensor.rows), tensor.scales.front());
  const auto rows = static_cast<size_t>(tensor.rows);
  const size_t groups = tensor.scales.size() / rows;
  if (groups == 0 || tensor.scales.size() % rows != 0 ||
      tensor.cols % static_cast<int64_t>(groups) != 0) {
    return module.shape_error(".weight_scale", *found,
                              fmt::format("[{}, groups that divide {}]", rows, tensor.cols));
  }
  tensor.scheme.group_columns = tensor.cols / static_cast<int64_t>(groups);
  return Status::ok();
}

Status read_zeros(const QuantModule& module, bool is_packed, QuantTensor& tensor) {
  const int bits = tensor.scheme.bits;
  tensor.zeros.assign(tensor.scales.size(), static_cast<uint8_t>(1 << (bits - 1)));
  INGOT_TRY(const TensorView* found, module.find(".weight_zero_point"));
  if (found == nullptr) return Status::ok();
  const int64_t groups = tensor.groups();
  const auto at = [&](int64_t row, int64_t group) -> uint8_t& {
    return tensor.zeros[static_cast<size_t>(row * groups + group)];
  };
  if (!is_packed) {
    INGOT_TRY(found, module.tensor(".weight_zero_point", {Layout::kI8}));
    if (found->bytes.size() != tensor.zeros.size())
      return module.shape_error(".weight_zero_point", *found, "that of the scales");
    for (size_t i = 0; i < tensor.zeros.size(); ++i)
      tensor.zeros[i] = static_cast<uint8_t>(std::to_integer<int>(found->bytes[i]) ^ 0x80);
    return Status::ok();
  }
  INGOT_TRY(found, module.tensor(".weight_zero_point", {Layout::kI32, Layout::kU32}));
  const int64_t per_word = 32 / bits;
  const int64_t words = (tensor.rows + per_word - 1) / per_word;
  if (found->shape != Shape{static_cast<uint64_t>(words), static_cast<uint64_t>(groups)})
    return module.shape_error(".weight_zero_point", *found, fmt::format("[{}, {}]", words, groups));
  for (int64_t row = 0; row < tensor.rows; ++row) {
    for (int64_t group = 0; group < groups; ++group) {
      uint32_t word;
      std::memcpy(&word, found->bytes.data() + (row / per_word * groups + group) * 4, sizeof(word));
      at(row, group) = static_cast<uint8_t>((word >> (row % per_word * bits)) & ((1u << bits) - 1));
    }
  }
  return Status::ok();
}

Status check_shape(const QuantModule& module, const QuantTensor& tensor) {
  INGOT_TRY(const TensorView* found, module.find(".weight_shape"));
  if (found == nullptr) return Status::ok();
  INGOT_TRY(found, module.tensor(".weight_shape", {Layout::kI64}));
  int64_t shape[2] = {};
  if (found->bytes.size() != sizeof(shape))
    return module.shape_error(".weight_shape", *found, "[2]");
  std::memcpy(shape, found->bytes.data(), sizeof(shape));
  if (shape[0] == tensor.rows && shape[1] == tensor.cols) return Status::ok();
  return module.error(fmt::format("weight_shape says [{}, {}] where it is [{}, {}]", shape[0],
                                  shape[1], tensor.rows, tensor.cols));
}

}  // namespace

Result<std::optional<QuantTensor>> read_compressed_weight(const QuantModule& module,
                                                          const QuantConfig& config, int64_t cols) {
  INGOT_TRY(const TensorView* packed, module.find(".weight_packed"));
  INGOT_TRY(const TensorView* scale, module.find(".weight_scale"));
  if (packed == nullptr && scale == nullptr) return std::optional<QuantTensor>();
  INGOT_TRY(const TensorView* order, module.find(".weight_g_idx"));
  if (order != nullptr) {
    return Status::unsupported("'{}': compressed-tensors with act-order cannot be loaded yet",
                               module.name());
  }
  QuantTensor tensor;
  tensor.cols = cols;
  tensor.scheme.bits = static_cast<int>(config.bits);
  const TensorView* codes = nullptr;
  int64_t width = cols;  // of a row, in elements
  if (config.is_e2m1) {
    tensor.scheme.meaning = CodeMeaning::kE2m1;
    INGOT_TRY(codes, module.tensor(".weight_packed", {Layout::kU8}));
    width = cols / 2;
  } else if (packed != nullptr) {
    INGOT_TRY(codes, module.tensor(".weight_packed", {Layout::kI32, Layout::kU32}));
    width = cols * config.bits / 32;
  } else {
    INGOT_TRY(module.skip(".input_scale"));
    INGOT_TRY(module.skip(".input_zero_point"));
    INGOT_TRY(codes, module.tensor(".weight", {Layout::kI8}));
    tensor.scheme.order = CodeOrder::kRowsSigned;
  }
  if (codes->shape.rank() != 2 || codes->cols() != static_cast<uint64_t>(width))
    return module.shape_error(".weight", *codes, fmt::format("[rows, {}]", width));
  tensor.rows = static_cast<int64_t>(codes->rows());
  if (tensor.rows == 0) return module.error("no rows");
  tensor.codes = codes->bytes;
  INGOT_TRY(read_scales(module, tensor));
  if (config.is_e2m1 && tensor.scheme.group_columns != 32)
    return module.error(
        fmt::format("an exponent for {} columns, not 32", tensor.scheme.group_columns));
  if (!config.is_e2m1) INGOT_TRY(read_zeros(module, packed != nullptr, tensor));
  INGOT_TRY(check_shape(module, tensor));
  return std::optional(std::move(tensor));
}

}  // namespace ingot

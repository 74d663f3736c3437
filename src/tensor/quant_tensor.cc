// SPDX-License-Identifier: Apache-2.0
#include "tensor/quant_tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "base/float_types.h"

namespace ingot {
namespace {

constexpr float kE2m1[8] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};

int bits_of(CodeMeaning meaning) {
  return meaning == CodeMeaning::kE4m3 || meaning == CodeMeaning::kE5m2 ? 8 : 4;
}

Status wrong(const char* what, size_t found, int64_t wanted) {
  return Status::invalid_data("a quantized weight has {} {} where it needs {}", found, what,
                              wanted);
}

}  // namespace

Status QuantTensor::check() const {
  const bool is_size = rows > 0 && cols > 0 && scheme.group_columns > 0 &&
                       (CheckedSize(static_cast<uint64_t>(rows)) *
                        CheckedSize(static_cast<uint64_t>(cols)) * CheckedSize(8))
                           .fits(std::numeric_limits<int64_t>::max());
  const bool is_bits = scheme.bits == 2 || scheme.bits == 3 || scheme.bits == 4 || scheme.bits == 8;
  if (!is_size || !is_bits) {
    return Status::invalid_data("a quantized weight of {} by {} with {} bits, {} columns a group",
                                rows, cols, scheme.bits, scheme.group_columns);
  }
  const int64_t row_bits = cols * scheme.bits;
  const bool is_in_words = scheme.order == CodeOrder::kColumns || scheme.bits % 2 != 0;
  if ((is_in_words && row_bits % 32 != 0) || row_bits % 8 != 0 ||
      (scheme.order == CodeOrder::kAwq && (rows % 8 != 0 || scheme.bits != 4))) {
    return Status::unsupported("a quantized weight of {} by {} does not fill whole words", rows,
                               cols);
  }
  const int64_t bytes = rows * (cols * scheme.bits / 8);
  if (codes.size() != static_cast<size_t>(bytes))
    return wrong("bytes of codes", codes.size(), bytes);
  if (scheme.meaning != CodeMeaning::kAffine && scheme.bits != bits_of(scheme.meaning)) {
    return Status::invalid_data("a quantized weight of floats with codes of {} bits", scheme.bits);
  }
  const int64_t count = rows * groups();
  if (scales.size() != static_cast<size_t>(count)) return wrong("scales", scales.size(), count);
  if (scheme.meaning == CodeMeaning::kAffine && zeros.size() != static_cast<size_t>(count))
    return wrong("zero points", zeros.size(), count);
  if (scheme.meaning == CodeMeaning::kLevels && levels.size() != 16)
    return wrong("levels", levels.size(), 16);
  const auto is_finite = [](float value) { return std::isfinite(value); };
  if (!std::ranges::all_of(scales, is_finite) || !std::ranges::all_of(levels, is_finite) ||
      !std::isfinite(tensor_scale) || tensor_scale <= 0)
    return Status::invalid_data("a scale of a quantized weight is no number or infinite");
  if (!std::isfinite(input.scale) || input.scale < 0 || !std::isfinite(input.limit) ||
      input.zero < -128 || input.zero > 127 || input.block < 0)
    return Status::invalid_data("the inputs of a quantized weight cannot be rounded by {} and {}",
                                input.scale, input.zero);
  if (!std::ranges::all_of(row_order, [&](int64_t row) { return row >= 0 && row < rows; }))
    return Status::invalid_data("a quantized weight has {} rows, fewer than are used", rows);
  if (column_order == nullptr) return Status::ok();
  if (column_order->size() != static_cast<size_t>(cols))
    return wrong("columns in order", column_order->size(), cols);
  std::vector<bool> is_there(static_cast<size_t>(cols));
  for (const int32_t col : *column_order) {
    if (col < 0 || col >= cols || is_there[static_cast<size_t>(col)])
      return Status::invalid_data("the column order of a quantized weight is no permutation");
    is_there[static_cast<size_t>(col)] = true;
  }
  return Status::ok();
}

QuantCodes QuantTensor::view() const {
  return {.order = scheme.order,
          .bits = scheme.bits,
          .rows = rows,
          .cols = cols,
          .group_columns = scheme.group_columns,
          .groups = groups(),
          .tensor_scale = tensor_scale,
          .codes = codes.data(),
          .scales = scales.data(),
          .zeros = zeros.empty() ? nullptr : zeros.data(),
          .row_order = row_order.empty() ? nullptr : row_order.data(),
          .column_order = column_order == nullptr ? nullptr : column_order->data()};
}

void dequantize_row(const QuantTensor& tensor, int64_t matrix_row, std::span<float> out) {
  const int64_t row =
      tensor.row_order.empty() ? matrix_row : tensor.row_order[static_cast<size_t>(matrix_row)];
  const QuantCodes codes = tensor.view();
  for (int64_t i = 0; i < tensor.cols; ++i) {
    const int64_t col =
        tensor.column_order == nullptr ? i : (*tensor.column_order)[static_cast<size_t>(i)];
    const int code = code_at(codes, row, col);
    const auto group = static_cast<size_t>(row * tensor.groups() + i / tensor.scheme.group_columns);
    float value = 0;
    switch (tensor.scheme.meaning) {
      case CodeMeaning::kAffine:
        value = static_cast<float>(code - tensor.zeros[group]);
        break;
      case CodeMeaning::kLevels:
        value = tensor.levels[static_cast<size_t>(code)];
        break;
      case CodeMeaning::kE2m1:
        value = code < 8 ? kE2m1[code] : -kE2m1[code - 8];
        break;
      case CodeMeaning::kE4m3:
        value = to_float(Float8E4M3{static_cast<uint8_t>(code)});
        break;
      case CodeMeaning::kE5m2:
        value = to_float(Float8E5M2{static_cast<uint8_t>(code)});
        break;
    }
    out[static_cast<size_t>(col)] = value * tensor.scales[group];
  }
}

}  // namespace ingot

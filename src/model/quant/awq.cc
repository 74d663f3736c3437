// SPDX-License-Identifier: Apache-2.0
// AWQ. "gemm": qweight [cols, rows / 8] and qzeros [groups, rows / 8] in words of eight nibbles,
// rows in the order 0 2 4 6 1 3 5 7, and scales [groups, rows]. "gemv": qweight [rows, cols / 8] in
// words of eight columns, in order; qzeros [rows, words] and scales [rows, 8 * words] are padded.
#include <cstring>

#include "model/quant/quant_module.h"

namespace ingot {
namespace {

constexpr int kShift[8] = {0, 16, 4, 20, 8, 24, 12, 28};

uint32_t word_at(const TensorView& words, int64_t index) {
  uint32_t word;
  std::memcpy(&word, words.bytes.data() + index * 4, sizeof(word));
  return word;
}

std::vector<uint8_t> read_zeros(const TensorView& words, int64_t groups, int64_t rows) {
  std::vector<uint8_t> zeros(static_cast<size_t>(groups * rows));
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t r = 0; r < rows; ++r) {
      const uint32_t word = word_at(words, g * (rows / 8) + r / 8);
      zeros[static_cast<size_t>(r * groups + g)] =
          static_cast<uint8_t>((word >> kShift[r % 8]) & 15);
    }
  }
  return zeros;
}

struct Tensors {
  const TensorView* codes;
  const TensorView* zeros;
  const TensorView* scales;
};

Result<std::optional<QuantTensor>> read_gemv(const QuantModule& module, const Tensors& from,
                                             int64_t group, int64_t cols) {
  if (from.codes->shape.rank() != 2 || cols % 8 != 0 ||
      from.codes->shape[1] != static_cast<uint64_t>(cols / 8))
    return module.shape_error(".qweight", *from.codes, fmt::format("[rows, {}]", cols / 8));
  QuantTensor tensor;
  tensor.scheme = {CodeMeaning::kAffine, CodeOrder::kRows, 4, group > 0 ? group : cols};
  tensor.rows = static_cast<int64_t>(from.codes->shape[0]);
  tensor.cols = cols;
  tensor.codes = from.codes->bytes;
  const int64_t groups = tensor.groups();
  const auto words = static_cast<int64_t>(from.zeros->shape.rank() == 2 ? from.zeros->shape[1] : 0);
  if (words > cols || words * 8 < groups || from.zeros->shape[0] != from.codes->shape[0])
    return module.shape_error(".qzeros", *from.zeros, fmt::format("[{}, words]", tensor.rows));
  if (from.scales->shape != Shape{from.codes->shape[0], static_cast<uint64_t>(words * 8)})
    return module.shape_error(".scales", *from.scales,
                              fmt::format("[{}, {}]", tensor.rows, words * 8));
  INGOT_TRY(const std::vector<float> padded, module.floats(".scales"));
  for (int64_t row = 0; row < tensor.rows; ++row) {
    for (int64_t g = 0; g < groups; ++g) {
      tensor.scales.push_back(padded[static_cast<size_t>(row * words * 8 + g)]);
      const uint32_t word = word_at(*from.zeros, row * words + g / 8);
      tensor.zeros.push_back(static_cast<uint8_t>((word >> (g % 8 * 4)) & 15));
    }
  }
  return std::optional(std::move(tensor));
}

}  // namespace

Result<std::optional<QuantTensor>> read_awq_weight(const QuantModule& module,
                                                   const WeightQuant& quant, int64_t cols) {
  INGOT_TRY(const TensorView* any, module.find(".qweight"));
  if (any == nullptr) return std::optional<QuantTensor>();
  INGOT_TRY(const TensorView* codes, module.tensor(".qweight", {Layout::kI32, Layout::kU32}));
  INGOT_TRY(const TensorView* words, module.tensor(".qzeros", {Layout::kI32, Layout::kU32}));
  INGOT_TRY(const TensorView* scales,
            module.tensor(".scales", {Layout::kF16, Layout::kBF16, Layout::kF32}));
  if (quant.is_gemv) return read_gemv(module, {codes, words, scales}, quant.group_columns, cols);
  if (codes->shape.rank() != 2 || codes->shape[0] != static_cast<uint64_t>(cols))
    return module.shape_error(".qweight", *codes, fmt::format("[{}, rows / 8]", cols));
  const int64_t rows = static_cast<int64_t>(codes->shape[1]) * 8;
  const int64_t groups = static_cast<int64_t>(scales->shape.rank() == 2 ? scales->shape[0] : 0);
  if (groups < 1 || cols % groups != 0 || scales->shape[1] != static_cast<uint64_t>(rows))
    return module.shape_error(".scales", *scales, fmt::format("[groups, {}]", rows));
  if (words->shape != Shape{static_cast<uint64_t>(groups), codes->shape[1]})
    return module.shape_error(".qzeros", *words, fmt::format("[{}, {}]", groups, rows / 8));
  QuantTensor tensor;
  tensor.scheme = {CodeMeaning::kAffine, CodeOrder::kAwq, 4, cols / groups};
  tensor.rows = rows;
  tensor.cols = cols;
  tensor.codes = codes->bytes;
  INGOT_TRY(const std::vector<float> by_group, module.floats(".scales"));
  tensor.scales = transposed(by_group, groups, rows);
  tensor.zeros = read_zeros(*words, groups, rows);
  return std::optional(std::move(tensor));
}

}  // namespace ingot

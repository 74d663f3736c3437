// SPDX-License-Identifier: Apache-2.0
// GPTQ: qweight [cols * bits / 32, rows] and qzeros [groups, rows * bits / 32] in words, scales
// [groups, rows], and g_idx [cols], which names each column's group where columns were taken in the
// order of their weight (act-order).
#include <algorithm>

#include "base/log.h"
#include "model/quant/quant_module.h"

namespace ingot {
namespace {

struct Sizes {
  int64_t rows;
  int64_t cols;
  int64_t groups;
};

// A stream of `bits` bits within each row of words.
std::vector<uint8_t> read_zeros(const TensorView& words, const Sizes& sizes, int64_t bits,
                                bool is_less_one) {
  std::vector<uint8_t> zeros(static_cast<size_t>(sizes.groups * sizes.rows));
  const auto mask = static_cast<uint32_t>((1 << bits) - 1);
  const int64_t row_bytes = static_cast<int64_t>(words.row_bytes());
  for (int64_t g = 0; g < sizes.groups; ++g) {
    const std::byte* from = words.bytes.data() + g * row_bytes;
    for (int64_t r = 0; r < sizes.rows; ++r) {
      uint32_t window = 0;
      const int64_t at = r * bits;
      for (int64_t i = 0; i < 2 && at / 8 + i < row_bytes; ++i)
        window |= std::to_integer<uint32_t>(from[at / 8 + i]) << (8 * i);
      const uint32_t stored = (window >> (at % 8)) & mask;
      // Field by field: adding to whole words would carry into neighbours.
      zeros[static_cast<size_t>(g * sizes.rows + r)] =
          static_cast<uint8_t>((stored + (is_less_one ? 1 : 0)) & mask);
    }
  }
  return zeros;
}

// A symmetric weight has one zero point, so that a file with the wrong label is found out: it would
// be one more or one less.
void fix_symmetric(const QuantModule& module, int64_t bits, std::vector<uint8_t>& zeros) {
  const int middle = 1 << (bits - 1);
  const auto is = [&](int value) {
    return std::ranges::all_of(zeros, [&](uint8_t zero) { return zero == value; });
  };
  if (!is(middle + 1) && !is(middle - 1)) return;
  log_warning("'{}': the zero points of this symmetric weight are of GPTQ's other format",
              module.name());
  std::ranges::fill(zeros, static_cast<uint8_t>(middle));
}

}  // namespace

Result<std::optional<QuantTensor>> read_gptq_weight(const QuantModule& module,
                                                    const WeightQuant& config, int64_t cols) {
  INGOT_TRY(const TensorView* any, module.find(".qweight"));
  if (any == nullptr) return std::optional<QuantTensor>();
  INGOT_TRY(const TensorView* codes, module.tensor(".qweight", {Layout::kI32, Layout::kU32}));
  INGOT_TRY(const TensorView* words, module.tensor(".qzeros", {Layout::kI32, Layout::kU32}));
  INGOT_TRY(const TensorView* scales,
            module.tensor(".scales", {Layout::kF16, Layout::kBF16, Layout::kF32}));
  const int64_t bits = config.bits;
  if (codes->shape.rank() != 2 || cols * bits % 32 != 0 ||
      codes->shape[0] != static_cast<uint64_t>(cols * bits / 32)) {
    return module.shape_error(".qweight", *codes, fmt::format("[{} * {} / 32, rows]", cols, bits));
  }
  QuantTensor tensor;
  const int64_t group = config.group_columns > 0 ? config.group_columns : cols;
  tensor.scheme = {CodeMeaning::kAffine, CodeOrder::kColumns, static_cast<int>(bits), group};
  tensor.rows = static_cast<int64_t>(codes->shape[1]);
  tensor.cols = cols;
  const Sizes sizes{tensor.rows, cols, tensor.groups()};
  const auto rows = static_cast<uint64_t>(sizes.rows);
  const auto groups = static_cast<uint64_t>(sizes.groups);
  if (scales->shape != Shape{groups, rows}) {
    return module.shape_error(".scales", *scales,
                              fmt::format("[{}, {}], groups of {} columns,", groups, rows, group));
  }
  if (rows == 0 || rows * static_cast<uint64_t>(bits) % 32 != 0 ||
      words->shape != Shape{groups, rows * static_cast<uint64_t>(bits) / 32}) {
    return module.shape_error(".qzeros", *words,
                              fmt::format("[{}, {} * {} / 32]", groups, rows, bits));
  }
  tensor.codes = codes->bytes;
  INGOT_TRY(const std::vector<float> by_group, module.floats(".scales"));
  tensor.scales = transposed(by_group, sizes.groups, sizes.rows);
  std::vector<uint8_t> zeros = read_zeros(*words, sizes, bits, config.stores_zeros_less_one);
  if (config.is_symmetric) fix_symmetric(module, bits, zeros);
  tensor.zeros = transposed(zeros, sizes.groups, sizes.rows);
  INGOT_TRY(read_column_order(module, ".g_idx", tensor));
  return std::optional(std::move(tensor));
}

}  // namespace ingot

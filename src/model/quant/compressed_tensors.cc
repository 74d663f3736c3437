// SPDX-License-Identifier: Apache-2.0
// compressed-tensors. Packed integers: weight_packed [rows, words] row by row, weight_scale
// [rows, groups], and zero points packed along the rows, [words, groups]. Codes whose bits do not
// divide 32 are a dense stream, or as many as fit each word whole (files until late 2025). MXFP4:
// weight_packed [rows, cols / 2] in bytes, exponents [rows, cols / 32]. Plain integers: weight
// [rows, cols] as signed bytes.
#include <cstring>

#include "model/quant/quant_module.h"

namespace ingot {
namespace {

// `count` codes of `bits` in words of 32.
struct WordPacking {
  int64_t bits;
  int64_t count;
  bool is_dense;

  static int64_t dense_words(int64_t bits, int64_t count) { return (count * bits + 31) / 32; }
  static int64_t whole_words(int64_t bits, int64_t count) {
    const int64_t each = 32 / bits;
    return (count + each - 1) / each;
  }
  // Which of the two it is, by the number of words.
  static std::optional<WordPacking> of(int64_t bits, int64_t count, uint64_t words) {
    if (words == static_cast<uint64_t>(dense_words(bits, count)))
      return WordPacking{bits, count, true};
    if (words == static_cast<uint64_t>(whole_words(bits, count)))
      return WordPacking{bits, count, false};
    return std::nullopt;
  }

  // Words lie `stride` words apart.
  uint8_t code(const std::byte* words, int64_t stride, int64_t index) const {
    const auto word = [&](int64_t i) {
      uint32_t value;
      std::memcpy(&value, words + i * stride * 4, sizeof(value));
      return value;
    };
    const int64_t each = 32 / bits;
    const int64_t at = is_dense ? index * bits : index / each * 32 + index % each * bits;
    uint64_t window = word(at / 32);
    if (at % 32 + bits > 32) window |= uint64_t{word(at / 32 + 1)} << 32;
    return static_cast<uint8_t>((window >> (at % 32)) & ((1u << bits) - 1));
  }
};

Status read_scales(const QuantModule& module, QuantTensor& tensor) {
  INGOT_TRY(const TensorView* found, module.find(".weight_scale"));
  if (found == nullptr) return module.error("tensor '.weight_scale' is missing");
  INGOT_TRY(tensor.scales, module.floats(".weight_scale"));
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

Status read_zeros(const QuantModule& module, int64_t bits, bool is_packed, QuantTensor& tensor) {
  const int middle = is_packed ? 1 << (bits - 1) : 128;
  tensor.zeros.assign(tensor.scales.size(), static_cast<uint8_t>(middle));
  INGOT_TRY(const TensorView* found, module.find(".weight_zero_point"));
  if (found == nullptr) return Status::ok();
  const int64_t groups = tensor.groups();
  if (found->layout == Layout::kI8) {  // signed, one by one
    if (found->bytes.size() != tensor.zeros.size())
      return module.shape_error(".weight_zero_point", *found, "that of the scales");
    for (size_t i = 0; i < tensor.zeros.size(); ++i) {
      const int zero = static_cast<int8_t>(found->bytes[i]) + middle;
      if (zero < 0 || zero > 255) return module.error(fmt::format("a zero point of {}", zero));
      tensor.zeros[i] = static_cast<uint8_t>(zero);
    }
    return Status::ok();
  }
  INGOT_TRY(found, module.tensor(".weight_zero_point", {Layout::kI32, Layout::kU32}));
  const auto packing =
      found->shape.rank() == 2 ? WordPacking::of(bits, tensor.rows, found->shape[0]) : std::nullopt;
  if (!is_packed || !packing || found->shape[1] != static_cast<uint64_t>(groups)) {
    return module.shape_error(
        ".weight_zero_point", *found,
        fmt::format("[{}, {}]", WordPacking::dense_words(bits, tensor.rows), groups));
  }
  for (int64_t row = 0; row < tensor.rows; ++row) {
    for (int64_t group = 0; group < groups; ++group)
      tensor.zeros[static_cast<size_t>(row * groups + group)] =
          packing->code(found->bytes.data() + group * 4, groups, row);
  }
  return Status::ok();
}

Status check_shape(const QuantModule& module, const QuantTensor& tensor) {
  INGOT_TRY(const TensorView* found, module.find(".weight_shape"));
  if (found == nullptr) return Status::ok();
  INGOT_TRY(found, module.tensor(".weight_shape", {Layout::kI64, Layout::kI32}));
  int64_t shape[2] = {};
  if (found->layout == Layout::kI64 && found->bytes.size() == sizeof(shape)) {
    std::memcpy(shape, found->bytes.data(), sizeof(shape));
  } else if (int32_t narrow[2]; found->bytes.size() == sizeof(narrow)) {
    std::memcpy(narrow, found->bytes.data(), sizeof(narrow));
    shape[0] = narrow[0];
    shape[1] = narrow[1];
  } else {
    return module.shape_error(".weight_shape", *found, "[2]");
  }
  if (shape[0] == tensor.rows && shape[1] == tensor.cols) return Status::ok();
  return module.error(fmt::format("weight_shape says [{}, {}] where it is [{}, {}]", shape[0],
                                  shape[1], tensor.rows, tensor.cols));
}

// The codes of weight_packed: as they lie where kernels read such rows, else a byte each.
Status read_packed(const QuantModule& module, int64_t bits, QuantTensor& tensor) {
  INGOT_TRY(const TensorView* codes, module.tensor(".weight_packed", {Layout::kI32, Layout::kU32}));
  const auto packing =
      codes->shape.rank() == 2 ? WordPacking::of(bits, tensor.cols, codes->shape[1]) : std::nullopt;
  if (!packing) {
    return module.shape_error(
        ".weight_packed", *codes,
        fmt::format("[rows, {}]", WordPacking::dense_words(bits, tensor.cols)));
  }
  tensor.rows = static_cast<int64_t>(codes->rows());
  tensor.scheme.bits = static_cast<int>(bits);
  const bool is_known = bits == 2 || bits == 3 || bits == 4 || bits == 8;
  if (is_known && packing->is_dense && tensor.cols * bits % 32 == 0) {
    tensor.codes = codes->bytes;
    return Status::ok();
  }
  tensor.scheme.bits = 8;
  auto bytes = std::make_shared<std::vector<std::byte>>();
  bytes->reserve(static_cast<size_t>(tensor.rows * tensor.cols));
  for (int64_t row = 0; row < tensor.rows; ++row) {
    const std::byte* words = codes->bytes.data() + row * static_cast<int64_t>(codes->row_bytes());
    for (int64_t col = 0; col < tensor.cols; ++col)
      bytes->push_back(static_cast<std::byte>(packing->code(words, 1, col)));
  }
  tensor.codes = *bytes;
  tensor.owned_codes = std::move(bytes);
  return Status::ok();
}

// Codes of whole bytes, `width` to a row.
Status read_bytes(const QuantModule& module, std::string_view suffix, Layout layout, int64_t width,
                  QuantTensor& tensor) {
  INGOT_TRY(const TensorView* codes, module.tensor(suffix, {layout}));
  if (codes->shape.rank() != 2 || codes->cols() != static_cast<uint64_t>(width))
    return module.shape_error(suffix, *codes, fmt::format("[rows, {}]", width));
  tensor.rows = static_cast<int64_t>(codes->rows());
  tensor.codes = codes->bytes;
  return Status::ok();
}

}  // namespace

Result<std::optional<QuantTensor>> read_compressed_weight(const QuantModule& module,
                                                          const WeightQuant& quant, int64_t cols) {
  INGOT_TRY(const TensorView* packed, module.find(".weight_packed"));
  INGOT_TRY(const TensorView* scale, module.find(".weight_scale"));
  if (packed == nullptr && scale == nullptr) return std::optional<QuantTensor>();
  QuantTensor tensor;
  tensor.cols = cols;
  if (quant.is_e2m1) {
    tensor.scheme = {CodeMeaning::kE2m1, CodeOrder::kRows, 4, 32};
    INGOT_TRY(read_bytes(module, ".weight_packed", Layout::kU8, cols / 2, tensor));
  } else if (packed != nullptr) {
    INGOT_TRY(read_packed(module, quant.bits, tensor));
  } else {
    tensor.scheme = {CodeMeaning::kAffine, CodeOrder::kRowsSigned, 8, cols};
    INGOT_TRY(read_bytes(module, ".weight", Layout::kI8, cols, tensor));
  }
  if (tensor.rows == 0) return module.error("no rows");
  INGOT_TRY(read_scales(module, tensor));
  if (quant.is_e2m1 && tensor.scheme.group_columns != 32)
    return module.error(
        fmt::format("an exponent for {} columns, not 32", tensor.scheme.group_columns));
  if (!quant.is_e2m1) {
    INGOT_TRY(read_zeros(module, quant.bits, packed != nullptr, tensor));
    INGOT_TRY(read_column_order(module, ".weight_g_idx", tensor));
  }
  INGOT_TRY(check_shape(module, tensor));
  INGOT_TRY(tensor.input, read_input_quant(module, quant));
  return std::optional(std::move(tensor));
}

}  // namespace ingot

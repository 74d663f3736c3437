// SPDX-License-Identifier: Apache-2.0
// A quantized matrix whose codes, scales and zero points lie apart, as in the safetensors formats
// (GPTQ, AWQ, compressed-tensors, bitsandbytes, FP8). Codes stay where the file has them; scales
// and zero points, a few per cent, are brought into one order when it is loaded. What packs weights
// for the kernels reads it 32 columns of a row at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "tensor/input_quant.h"
#include "tensor/quant_codes.h"

namespace ingot {

enum class CodeMeaning : uint8_t {
  kAffine,  // scale * (code - zero)
  kLevels,  // scale * levels[code], 4 bits
  kE2m1,    // scale * the 4-bit float
  kE4m3,    // scale * the 8-bit float
  kE5m2,    // the same with fewer digits
};

struct QuantScheme {
  CodeMeaning meaning = CodeMeaning::kAffine;
  CodeOrder order = CodeOrder::kRows;
  int bits = 4;
  int64_t group_columns = 32;  // that share a scale; the last group may be shorter
};

// A permutation of a weight's columns, shared by the weights of one input.
using ColumnOrder = std::vector<int32_t>;

// Plain data, checked by whoever fills it: see check(). The codes must outlive it, where it has
// none of its own.
struct QuantTensor {
  QuantScheme scheme;
  int64_t rows = 0;  // of the file; see row_order
  int64_t cols = 0;
  std::span<const std::byte> codes;
  std::vector<float> scales;       // [rows][groups]; whole, with the tensor's own taken in
  std::vector<uint8_t> zeros;      // the same, for kAffine
  std::vector<float> levels;       // 16, for kLevels
  std::vector<int64_t> row_order;  // rows of the matrix in the file; empty: all, as they are
  std::shared_ptr<const ColumnOrder> column_order;  // where columns are sorted by group, or null
  float tensor_scale = 1;                           // NVFP4: the scales are e4m3 times this
  InputQuant input;                                 // how the inputs are to be rounded
  // Behind `codes`, where a file's own could not be used as they are.
  std::shared_ptr<const std::vector<std::byte>> owned_codes;

  int64_t groups() const { return (cols + scheme.group_columns - 1) / scheme.group_columns; }
  int64_t matrix_rows() const {
    return row_order.empty() ? rows : static_cast<int64_t>(row_order.size());
  }
  // Every length against the others; what kernels rely on.
  Status check() const;
  QuantCodes view() const;  // for as long as the tensor is there and unchanged
};

// A row of the matrix, columns in the file's order: each value is one product in float.
void dequantize_row(const QuantTensor& tensor, int64_t row, std::span<float> out);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// A quantized weight as its tensors stand in a checkpoint: one function per format, each the
// inverse of a reader in model/quant/. The tensors' sizes depend on the weight's shape and the
// options alone, so that a file can be laid out before anything is quantized: see the *_tensors
// functions, which say what the pack_* functions of the same name will give.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quant/affine.h"
#include "tensor/tensor_view.h"

namespace ingot {

struct PackedTensor {
  std::string suffix;  // ".qweight": behind the module's name
  Layout layout = Layout::kU8;
  Shape shape;
  std::vector<std::byte> bytes;  // empty in a plan
};
using PackedTensors = std::vector<PackedTensor>;

struct QuantizedWeight {
  PackedTensors tensors;
  std::vector<float> values;  // what a reader gets, [rows][cols]
};

// GPTQ, first format (zeros less one): qweight, qzeros, scales, g_idx.
PackedTensors gptq_tensors(int64_t rows, int64_t cols, const AffineOptions& options);
PackedTensors pack_gptq(const AffineCodes& codes);
// Whether the format can hold a weight of this shape.
bool fits_gptq(int64_t rows, int64_t cols, const AffineOptions& options);

// AWQ's gemm form, 4 bits: qweight, qzeros, scales.
PackedTensors awq_tensors(int64_t rows, int64_t cols, const AffineOptions& options);
PackedTensors pack_awq(const AffineCodes& codes);
bool fits_awq(int64_t rows, int64_t cols, const AffineOptions& options);

// compressed-tensors "pack-quantized": weight_packed, weight_scale, weight_shape, and where they
// are asymmetric weight_zero_point.
PackedTensors compressed_tensors(int64_t rows, int64_t cols, const AffineOptions& options);
PackedTensors pack_compressed(const AffineCodes& codes, Layout scale_layout);
bool fits_compressed(int64_t rows, int64_t cols, const AffineOptions& options);

// compressed-tensors "int-quantized": signed bytes with a scale per row.
PackedTensors int8_tensors(int64_t rows, int64_t cols, Layout scale_layout);
PackedTensors pack_int8(const AffineCodes& codes, Layout scale_layout);

}  // namespace ingot

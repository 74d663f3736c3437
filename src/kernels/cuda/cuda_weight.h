// SPDX-License-Identifier: Apache-2.0
// A weight in the memory of a GPU: panels of codes as the processor has them, or rows of floats as
// files have them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda/cuda_memory.h"
#include "kernels/cuda/linear.h"
#include "kernels/cuda/matmul_library.h"
#include "kernels/device.h"
#include "tensor/input_quant.h"
#include "tensor/quant_tensor.h"

namespace ingot::cuda {

struct WeightFacts {
  int64_t rows = 0;
  int64_t cols = 0;
  bool is_panels = false;
  Packing packing = Packing::kRows;             // of panels
  ElementType type = ElementType::kF32;         // of rows
  int64_t stride = 0;                           // bytes from panel to panel, or from row to row
  int64_t scale_spans = 0;                      // e4m3, int8
  ProductScales scales = ProductScales::kNone;  // e4m3: how the library can take inputs in e4m3
  float scale = 1;
  bool rounds_inputs = true;  // else by inputs in f32
  InputQuant input;
};

// Immutable.
class Weight final : public DeviceWeight {
 public:
  WeightFacts facts;
  Memory data;
  Memory bias;                          // [rows] or empty
  Memory row_scales;                    // [rows, scale_spans], e4m3 and int8
  Memory block_scales;                  // as MatMul has them, where scales are kBlocks
  Memory row_sums;                      // [rows], where inputs have zero points
  std::shared_ptr<const Memory> order;  // [cols] int32, or null

  int64_t rows() const override { return facts.rows; }
  int64_t cols() const override { return facts.cols; }
  size_t size_bytes() const override {
    return data.size() + row_scales.size() + block_scales.size();
  }
  InputKind input_kind() const override { return facts.input.kind; }
};

inline constexpr int64_t kRowAlignment = 16;  // bytes that a lane, and the library, read at once

// Whether codes can be multiplied as int8 with nothing but a scale a row: W8A8.
bool is_plain_int8(const QuantTensor& weights);
// How the library multiplies e4m3 rows by inputs in e4m3; `scales` are [rows, scale_spans]. Where
// it takes scales of blocks, `blocks` are filled in as MatMul has them.
ProductScales product_scales(const WeightFacts& facts, std::span<const float> scales,
                             std::vector<float>& blocks);

}  // namespace ingot::cuda

// SPDX-License-Identifier: Apache-2.0
// A weight in the memory of a GPU: panels of codes as the processor has them, or rows of floats as
// files have them.
#pragma once

#include <memory>

#include "kernels/cuda/cuda_memory.h"
#include "kernels/cuda/linear.h"
#include "kernels/device.h"
#include "tensor/input_quant.h"

namespace ingot::cuda {

struct WeightFacts {
  int64_t rows = 0;
  int64_t cols = 0;
  bool is_panels = false;
  Packing packing = Packing::kRows;      // of panels
  ElementType type = ElementType::kF32;  // of rows
  int64_t stride = 0;                    // bytes from panel to panel, or from row to row
  int64_t scale_spans = 0;               // e4m3
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
  Memory row_scales;                    // [rows, scale_spans], e4m3
  Memory row_sums;                      // [rows], where inputs have zero points
  std::shared_ptr<const Memory> order;  // [cols] int32, or null

  int64_t rows() const override { return facts.rows; }
  int64_t cols() const override { return facts.cols; }
  size_t size_bytes() const override { return data.size() + row_scales.size(); }
  InputKind input_kind() const override { return facts.input.kind; }
};

}  // namespace ingot::cuda

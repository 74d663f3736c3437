// SPDX-License-Identifier: Apache-2.0
// What a weight becomes in a checkpoint of safetensors: the tensors it turns into and how values
// get there by plain rounding. One value stands for one entry of a quantization_config.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "quant/affine.h"
#include "quant/float_codes.h"
#include "quant/packed.h"

namespace ingot {

enum class WeightKind : uint8_t { kGptq, kAwq, kPacked, kInt8, kFp8, kMxfp4, kNvfp4, kNf4 };
std::string_view to_string(WeightKind kind);

struct WeightFormat {
  WeightKind kind = WeightKind::kGptq;
  AffineOptions affine;  // kGptq, kAwq, kPacked, kInt8
  Fp8Options fp8;
  Nf4Options nf4;
  bool has_static_inputs = false;  // FP8: inputs have one scale, found by calibration

  bool is_affine() const { return kind <= WeightKind::kInt8; }
  // Empty, or why a weight of this shape stays as it is.
  std::string misfit(int64_t rows, int64_t cols) const;
  PackedTensors plan(int64_t rows, int64_t cols) const;
  // Of the affine kinds.
  QuantizedWeight pack(const AffineCodes& codes) const;
  // Round to nearest. `importance` is empty or a weight for each column's squared error;
  // `input_scale` is for those with static inputs.
  QuantizedWeight round(std::span<const float> values, int64_t rows, int64_t cols,
                        std::span<const float> importance, float input_scale,
                        const Exec& exec) const;
  double bits_per_weight(int64_t rows, int64_t cols) const;
};

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// What config.json says of a quantized checkpoint (quantization_config): which tensors stand for a
// weight, and what their numbers mean. Sizes are taken from the tensors themselves. What cannot be
// loaded is refused here, with its name.
#pragma once

#include "base/status.h"
#include "model/hf_config.h"

namespace ingot {

enum class QuantMethod : uint8_t {
  kNone,
  kGptq,
  kAwq,
  kBitsandbytes,
  kFp8,                // also the float formats of compressed-tensors
  kCompressedTensors,  // packed integers, bytes and MXFP4
};

struct QuantConfig {
  QuantMethod method = QuantMethod::kNone;
  int64_t bits = 0;                    // GPTQ, packed integers
  int64_t group_columns = 0;           // GPTQ; 0: one group
  bool stores_zeros_less_one = false;  // GPTQ's first format
  bool is_symmetric = false;
  bool is_e2m1 = false;    // MXFP4 of compressed-tensors
  int64_t block_rows = 0;  // of FP8 scales; 0: per row or tensor
  int64_t block_cols = 0;
  bool operator==(const QuantConfig&) const = default;
};

// None where the checkpoint is not quantized.
Result<QuantConfig> read_quant_config(const HfConfig& config);

}  // namespace ingot

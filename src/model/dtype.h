// SPDX-License-Identifier: Apache-2.0
// --dtype: what plain float weights are kept as and multiplied in, by vLLM's names. Asked once for
// each matrix as it is bound; norms, biases and embedding tables stay as they are, quantized
// weights too, but that kAuto lets fp8 and NF4 be rounded to bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "blocks/layout_id.h"
#include "kernels/panel.h"

namespace ingot {

enum class ModelDtype : uint8_t {
  kAuto,      // as in the file; inputs of bf16 weights in bf16 or 13 bits, of f16 in 13 bits, where
              // the machine multiplies these faster, fp8 and NF4 in bytes; exact where the model is
              // small
  kHalf,      // matrices to fp16
  kBFloat16,  // matrices to bf16
  kFloat,     // as in the file, nothing rounded that the format does not round
};

// "auto", "half", "bfloat16" or "float", and the names float16, fp16, f16, bf16, float32, f32.
Result<ModelDtype> parse_dtype(std::string_view name);
std::string_view to_string(ModelDtype dtype);

// What is done with a model of so many bytes of weights: its own, but for kAuto and a small one.
ModelDtype dtype_for(ModelDtype dtype, uint64_t weight_bytes);

// What a matrix of this layout is rounded to as it is packed; none: it stays.
std::optional<Layout> cast_of(ModelDtype dtype, Layout layout);
// What linear layers may round because that is faster.
Rounding rounding_of(ModelDtype dtype);

}  // namespace ingot

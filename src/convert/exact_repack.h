// SPDX-License-Identifier: Apache-2.0
// Quantized weights of safetensors as GGUF blocks without changing a value: where groups cover
// whole blocks and scales are halves, scale * (code - zero) is what Q4_0, Q5_0 and Q8_0 hold, and
// MXFP4 is MXFP4 in another order.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "blocks/layout.h"
#include "tensor/quant_tensor.h"

namespace ingot {

// The smallest type that holds it, or nothing: columns out of order (act-order), scales that are no
// halves, levels that no block has.
std::optional<Layout> exact_layout(const QuantTensor& tensor);
// A type that holds all that `a` and `b` hold.
std::optional<Layout> common_layout(std::optional<Layout> a, std::optional<Layout> b);
// One row of the matrix; `layout` is exact_layout()'s or a larger one.
void repack_row(const QuantTensor& tensor, int64_t row, Layout layout, std::span<std::byte> out);

}  // namespace ingot

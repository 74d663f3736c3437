// SPDX-License-Identifier: Apache-2.0
// Layouts without scales: plain elements and safetensors' packed small floats. layout.h dispatches
// here; writers use encode_elements. Encoders that choose codes and scales live in quant/.
#pragma once

#include <cstddef>
#include <span>

#include "blocks/layout.h"

namespace ingot {

// dequantize and is_finite for layouts that have no block header; the same contracts.
void decode_elements(Layout layout, std::span<const std::byte> bytes, std::span<float> out);
bool elements_are_finite(Layout layout, std::span<const std::byte> bytes);

// F32, F16, BF16, F8_E4M3 and F8_E5M2: the layouts a float casts to.
bool can_encode_elements(Layout layout);
// Rounds to nearest, ties to even (base/float_types.h). The layout must be one of the above and
// `out` exactly its storage.
void encode_elements(Layout layout, std::span<const float> values, std::span<std::byte> out);

}  // namespace ingot

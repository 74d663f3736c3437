// SPDX-License-Identifier: Apache-2.0
// Decoding a run of weights to float, for kernels whose layout has no arithmetic of its own. A
// plain function over pointers: files built with a target's flags call it without pulling in inline
// code.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blocks/layout.h"

namespace ingot {

// `count` values from `bytes`, in whole blocks of the layout.
void decode_values(Layout layout, const std::byte* bytes, int64_t count, float* out);
// Storage of `count` values in whole blocks.
int64_t decode_bytes(Layout layout, int64_t count);

}  // namespace ingot

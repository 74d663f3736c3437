// SPDX-License-Identifier: Apache-2.0
// Floats to the blocks of GGUF files: chooses scales and codes by least weighted squared error.
// What `ingot quantize` calls for every tensor after mixture.h has chosen its layout; blocks/ has
// the layouts and their exact decode. The bytes depend on the input alone: not on the machine, and
// not on how the rows of a tensor are split over calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "blocks/layout_id.h"

namespace ingot {

// F32, F16, BF16 and every packed layout of weights (not Q8_1 and Q8_K, which hold activations).
bool can_quantize(Layout layout);

// Below about three bits the choice of codes is only as good as the weights of the errors: a model
// encoded without importance speaks nonsense. Callers refuse, and say how to measure it.
bool needs_importance(Layout layout);

// Encodes whole rows: values.size() is a multiple of cols, cols of the block, and `out` exactly the
// storage. `importance` is empty or holds the mean squared input of each of the cols columns; an
// error counts that much. Not finite values give finite scales and arbitrary codes. Thread-safe.
void quantize_rows(Layout layout, std::span<const float> values, int64_t cols,
                   std::span<const float> importance, std::span<std::byte> out);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// GPTQ on the grids of K blocks: rows of floats become blocks as in quantize_rows.h, but a column
// is rounded after adding what the columns before it have lost (quant/feedback.h), so that the
// product with the layer's inputs stays close. A block's scales share an fp16 scale, so they are
// fitted together, when the block's first column has its turn; its codes follow one after the
// other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "blocks/layout_id.h"
#include "quant/feedback.h"

namespace ingot {

// Q2_K to Q6_K: blocks of evenly spaced levels, a code to each weight.
bool takes_feedback(Layout layout);

// `weights` [rows][feedback.cols], in columns' own order; `out` exactly the storage. The bytes do
// not depend on how a tensor's rows are split over calls. Fails only when memory runs out.
Status quantize_rows_with_feedback(Layout layout, std::span<const float> weights,
                                   const Feedback& feedback, std::span<std::byte> out,
                                   const Exec& exec, TargetSet targets);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// GPTQ: columns are rounded one after the other, and each sees the errors of those before it, so
// that the product with the layer's inputs, not the weight, stays close. In the form of linear
// feedback (quant/feedback.h): code_k = round(w_k + sum_{j<k} (w_j - q_j) R_jk), which gives the
// same codes as the updates by the inverse Hessian and needs no inverse.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "quant/affine.h"
#include "quant/feedback.h"

namespace ingot {

// `weights` [rows][cols]. Grids are fitted to a group when its first column's turn comes, with the
// errors so far taken in. The result
// has the feedback's column order.
Result<AffineCodes> quantize_gptq(std::span<const float> weights, int64_t rows,
                                  const Feedback& feedback, const AffineOptions& options,
                                  const Exec& exec, TargetSet targets);

// Mean over rows of e H e^T: what the layer's output loses on the samples.
Result<double> output_loss(std::span<const float> weights, std::span<const float> quantized,
                           int64_t rows, std::span<const float> hessian, int64_t cols,
                           const Exec& exec, TargetSet targets);

}  // namespace ingot

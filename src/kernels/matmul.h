// SPDX-License-Identifier: Apache-2.0
// C = A * B^T of plain floats, by the linear kernels: for those who factor and solve (quantizers),
// not for a forward pass. Sums run in the kernels' fixed order.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "kernels/exec.h"
#include "kernels/target.h"

namespace ingot {

struct MatMulArgs {
  const float* a;  // [m, k]
  const float* b;  // [n, k]
  float* c;        // [m, c_stride], c_stride >= n; overwritten
  int64_t m;
  int64_t n;
  int64_t k;
  int64_t c_stride;
};
// Packs b first, so the smaller matrix is best given as b. Fails only when memory runs out.
Status multiply_by_transposed(const Exec& exec, TargetSet targets, const MatMulArgs& args);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// RMS norm and layer norm over the last dimension, in float, sums in one fixed order.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/exec.h"
#include "kernels/target.h"

namespace ingot {

enum class NormKind : uint8_t { kRms, kLayer };

struct NormArgs {
  NormKind kind;
  const float* x;  // [rows] runs of `dim`, row i at x + i * x_stride
  int64_t x_stride;
  float* y;  // may be x
  int64_t y_stride;
  int64_t dim;
  float eps;
  const float* weight;  // [weight_rows, dim] or null (no affine part)
  int64_t weight_rows;  // 1, or the heads per token: row i uses weight row i % weight_rows
  const float* bias;    // like weight, or null
};

struct NormKernel {
  const char* name;
  Target target;
  void (*run)(const NormArgs& args, int64_t begin, int64_t end);
};
std::span<const NormKernel> norm_kernels();
const NormKernel& choose_norm(TargetSet targets);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// Norms, one row at a time: lane j of each sum takes columns j, j + 8, ...; two or three passes
// over a row that stays in L1. Reads and writes 4 bytes a column; bound by L1. A row's result
// depends on that row alone.
#include "kernels/cpu/neon/norm.h"

#include "kernels/cpu/neon/vectors.h"

namespace ingot::cpu {
namespace {

float sum_of(const float* x, int64_t dim) {
  Floats8 sum = all_8(0);
  for (int64_t i = 0; i < dim; i += 8)
    sum = add(sum, load_some(x + i, dim - i));
  return sum_lanes(sum);
}

float sum_of_squares(const float* x, int64_t dim, float center) {
  const Floats8 centers = all_8(center);
  Floats8 sum = all_8(0);
  for (int64_t i = 0; i < dim; i += 8) {  // a lane past the end is the center: it adds nothing
    const Floats8 value = subtract(load_some(x + i, dim - i, center), centers);
    sum = multiply_add(value, value, sum);
  }
  return sum_lanes(sum);
}

}  // namespace

void norm_neon(const NormArgs& args, int64_t begin, int64_t end) {
  const auto count = static_cast<float>(args.dim);
  for (int64_t row = begin; row < end; ++row) {
    const float* x = args.x + row * args.x_stride;
    float* y = args.y + row * args.y_stride;
    const int64_t affine = row % args.weight_rows * args.dim;
    const float center = args.kind == NormKind::kLayer ? sum_of(x, args.dim) / count : 0.0F;
    const float variance = sum_of_squares(x, args.dim, center) / count;
    const Floats8 factor = all_8(1.0F / __builtin_sqrtf(variance + args.eps));
    const Floats8 centers = all_8(center);
    for (int64_t i = 0; i < args.dim; i += 8) {
      const int64_t left = args.dim - i;
      Floats8 value = multiply(subtract(load_some(x + i, left), centers), factor);
      if (args.weight != nullptr)
        value = multiply(value, load_some(args.weight + affine + i, left));
      if (args.bias != nullptr) value = add(value, load_some(args.bias + affine + i, left));
      store_some(y + i, left, value);
    }
  }
}

}  // namespace ingot::cpu

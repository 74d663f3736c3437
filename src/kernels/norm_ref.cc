// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm_ref.h"

#include <cmath>

namespace ingot::ref {
namespace {

double mean_of(const float* x, int64_t dim) {
  double sum = 0;
  for (int64_t i = 0; i < dim; ++i)
    sum += static_cast<double>(x[i]);
  return sum / static_cast<double>(dim);
}

double mean_square(const float* x, int64_t dim, double center) {
  double sum = 0;
  for (int64_t i = 0; i < dim; ++i) {
    const double value = static_cast<double>(x[i]) - center;
    sum += value * value;
  }
  return sum / static_cast<double>(dim);
}

}  // namespace

void norm(const NormArgs& args, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const float* x = args.x + row * args.x_stride;
    float* y = args.y + row * args.y_stride;
    const int64_t affine = row % args.weight_rows * args.dim;
    const double center = args.kind == NormKind::kLayer ? mean_of(x, args.dim) : 0.0;
    const double variance = mean_square(x, args.dim, center);
    const double factor = 1.0 / std::sqrt(variance + static_cast<double>(args.eps));
    for (int64_t i = 0; i < args.dim; ++i) {
      double value = (static_cast<double>(x[i]) - center) * factor;
      if (args.weight != nullptr) value *= static_cast<double>(args.weight[affine + i]);
      if (args.bias != nullptr) value += static_cast<double>(args.bias[affine + i]);
      y[i] = static_cast<float>(value);
    }
  }
}

}  // namespace ingot::ref

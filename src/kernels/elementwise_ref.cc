// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise_ref.h"

#include <cmath>
#include <numbers>

namespace ingot::ref {
namespace {

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

double apply(Activation activation, double x) {
  switch (activation) {
    case Activation::kSilu:
      return x * sigmoid(x);
    case Activation::kGelu:
      return 0.5 * x * std::erfc(-x * (std::numbers::sqrt2 / 2));
    case Activation::kGeluTanh: {
      // 0.5 * (1 + tanh(u)) is sigmoid(2u), which loses no digits where tanh is near -1.
      const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
      return x * sigmoid(2 * u);
    }
    case Activation::kGeluQuick:
      return x * sigmoid(1.702 * x);
    case Activation::kRelu:
      return x < 0 ? 0.0 : x;  // a NaN stays one
    case Activation::kReluSquared:
      return x < 0 ? 0.0 : x * x;
  }
  return x;
}

}  // namespace

void activate(Activation activation, const float* gate, const float* up, float* out,
              int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(apply(activation, static_cast<double>(gate[i])));
    out[i] = up == nullptr ? value : value * up[i];
  }
}

void add_scaled(float* y, const float* x, float factor, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    y[i] += factor * x[i];
}

void softcap(float* y, float cap, int64_t count) {
  const auto limit = static_cast<double>(cap);
  for (int64_t i = 0; i < count; ++i)
    y[i] = static_cast<float>(limit * std::tanh(static_cast<double>(y[i]) / limit));
}

}  // namespace ingot::ref

// SPDX-License-Identifier: Apache-2.0
// The activation functions in f32.
#pragma once

#include "kernels/elementwise_kind.h"

namespace ingot::cuda {

__device__ inline float activated(Activation kind, float x) {
  switch (kind) {
    case Activation::kSilu:
      return x / (1.0f + expf(-x));
    case Activation::kGelu:
      return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
    case Activation::kGeluTanh: {
      const float inner = 0.79788456080286536f * (x + 0.044715f * x * x * x);
      return 0.5f * x * (1.0f + tanhf(inner));
    }
    case Activation::kGeluQuick:
      return x / (1.0f + expf(-1.702f * x));
    case Activation::kRelu:
      return fmaxf(x, 0.0f);
    case Activation::kReluSquared: {
      const float positive = fmaxf(x, 0.0f);
      return positive * positive;
    }
  }
  return x;
}

}  // namespace ingot::cuda

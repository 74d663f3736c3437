// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/attention_parts.h"

namespace ingot {

void rotate_key(float* row, int64_t dim) {
  const int64_t size = dim & -dim;  // the largest power of two that divides it
  const float scale = 1.0F / std::sqrt(static_cast<float>(size));
  for (float* block = row; block != row + dim; block += size) {
    for (int64_t half = 1; half < size; half *= 2) {
      for (int64_t begin = 0; begin < size; begin += 2 * half) {
        float* low = block + begin;
        float* high = low + half;
        for (int64_t i = 0; i < half; ++i) {
          const float a = low[i];
          const float b = high[i];
          low[i] = a + b;
          high[i] = a - b;
        }
      }
    }
    for (int64_t i = 0; i < size; ++i)
      block[i] *= scale;
  }
}

}  // namespace ingot

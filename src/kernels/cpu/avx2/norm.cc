// SPDX-License-Identifier: Apache-2.0
// Norms, one row at a time: lane j of each sum takes columns j, j + 8, ...; two or three passes
// over a row that stays in L1. Reads and writes 4 bytes a column; bound by L1. A row's result
// depends on that row alone.
#include "kernels/cpu/avx2/norm.h"

#include "kernels/cpu/avx2/vectors.h"

namespace ingot::cpu {
namespace {

__m256 load(const float* from, int64_t count) {
  return count >= 8 ? _mm256_loadu_ps(from) : _mm256_maskload_ps(from, lane_mask(count));
}
void store(float* to, int64_t count, __m256 value) {
  if (count >= 8) {
    _mm256_storeu_ps(to, value);
  } else {
    _mm256_maskstore_ps(to, lane_mask(count), value);
  }
}

float sum_of(const float* x, int64_t dim) {
  __m256 sum = _mm256_setzero_ps();
  for (int64_t i = 0; i < dim; i += 8)
    sum = _mm256_add_ps(sum, load(x + i, dim - i));
  return sum_lanes(sum);
}

float sum_of_squares(const float* x, int64_t dim, float center) {
  const __m256 centers = _mm256_set1_ps(center);
  __m256 sum = _mm256_setzero_ps();
  int64_t i = 0;
  for (; i + 8 <= dim; i += 8) {
    const __m256 value = _mm256_sub_ps(_mm256_loadu_ps(x + i), centers);
    sum = _mm256_fmadd_ps(value, value, sum);
  }
  if (i < dim) {  // lanes past the end must not count as -center
    const __m256 inside = _mm256_castsi256_ps(lane_mask(dim - i));
    const __m256 value = _mm256_and_ps(_mm256_sub_ps(load(x + i, dim - i), centers), inside);
    sum = _mm256_fmadd_ps(value, value, sum);
  }
  return sum_lanes(sum);
}

}  // namespace

void norm_avx2(const NormArgs& args, int64_t begin, int64_t end) {
  const auto count = static_cast<float>(args.dim);
  for (int64_t row = begin; row < end; ++row) {
    const float* x = args.x + row * args.x_stride;
    float* y = args.y + row * args.y_stride;
    const int64_t affine = row % args.weight_rows * args.dim;
    const float center = args.kind == NormKind::kLayer ? sum_of(x, args.dim) / count : 0.0F;
    const float variance = sum_of_squares(x, args.dim, center) / count;
    const __m256 factor = _mm256_set1_ps(1.0F / __builtin_sqrtf(variance + args.eps));
    const __m256 centers = _mm256_set1_ps(center);
    for (int64_t i = 0; i < args.dim; i += 8) {
      const int64_t left = args.dim - i;
      __m256 value = _mm256_mul_ps(_mm256_sub_ps(load(x + i, left), centers), factor);
      if (args.weight != nullptr)
        value = _mm256_mul_ps(value, load(args.weight + affine + i, left));
      if (args.bias != nullptr) value = _mm256_add_ps(value, load(args.bias + affine + i, left));
      store(y + i, left, value);
    }
  }
}

}  // namespace ingot::cpu

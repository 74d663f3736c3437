// SPDX-License-Identifier: Apache-2.0
// Norms, one row at a time, in four sums of 8 lanes: lane j of sum k takes columns 8 k + j, then
// every 32nd after it. Two or three passes over a row that stays in L1; bound by L1. A row's result
// depends on that row alone. Show it with `ingot bench kernels norm`.
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

// Sums add(sum, first column, columns) over the row, 8 columns at a time.
template <class Add>
float sum_columns(int64_t dim, Add add) {
  __m256 sums[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                    _mm256_setzero_ps()};
  int64_t i = 0;
  for (; i + 32 <= dim; i += 32) {
    for (int64_t k = 0; k < 4; ++k)
      sums[k] = add(sums[k], i + 8 * k, 8);
  }
  for (int64_t k = 0; i + 8 * k < dim; ++k)
    sums[k] = add(sums[k], i + 8 * k, dim - i - 8 * k);
  return sum_lanes(_mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3])));
}

float sum_of(const float* x, int64_t dim) {
  return sum_columns(dim, [x](__m256 sum, int64_t at, int64_t count) {
    return _mm256_add_ps(sum, load(x + at, count));
  });
}

float sum_of_squares(const float* x, int64_t dim, float center) {
  const __m256 centers = _mm256_set1_ps(center);
  return sum_columns(dim, [x, centers](__m256 sum, int64_t at, int64_t count) {
    __m256 value = _mm256_sub_ps(load(x + at, count), centers);
    // What is past the end must not count as -center.
    if (count < 8) value = _mm256_and_ps(value, _mm256_castsi256_ps(lane_mask(count)));
    return _mm256_fmadd_ps(value, value, sum);
  });
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

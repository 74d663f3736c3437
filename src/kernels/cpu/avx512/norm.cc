// SPDX-License-Identifier: Apache-2.0
// Norms, one row at a time, in four sums of 16 lanes: lane j of sum k takes columns 16 k + j, then
// every 64th after it. Two or three passes over a row that stays in L1; bound by L1. A row's result
// depends on that row alone. Show it with `ingot bench kernels norm`.
#include "kernels/cpu/avx512/norm.h"

#include "kernels/cpu/avx512/vectors.h"

namespace ingot::cpu {
namespace {

// Sums add(sum, first column, columns) over the row, 16 columns at a time.
template <class Add>
float sum_columns(int64_t dim, Add add) {
  __m512 sums[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
                    _mm512_setzero_ps()};
  int64_t i = 0;
  for (; i + 64 <= dim; i += 64) {
    for (int64_t k = 0; k < 4; ++k)
      sums[k] = add(sums[k], i + 16 * k, 16);
  }
  for (int64_t k = 0; i + 16 * k < dim; ++k)
    sums[k] = add(sums[k], i + 16 * k, dim - i - 16 * k);
  return sum_lanes_512(
      _mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])));
}

float sum_of(const float* x, int64_t dim) {
  return sum_columns(dim, [x](__m512 sum, int64_t at, int64_t count) {
    return _mm512_add_ps(sum, load_floats(x + at, count));
  });
}

float sum_of_squares(const float* x, int64_t dim, float center) {
  const __m512 centers = _mm512_set1_ps(center);
  return sum_columns(dim, [x, centers](__m512 sum, int64_t at, int64_t count) {
    const __mmask16 inside = lane_mask_512(count);  // what is past the end is not -center
    const __m512 value =
        _mm512_maskz_sub_ps(inside, _mm512_maskz_loadu_ps(inside, x + at), centers);
    return _mm512_fmadd_ps(value, value, sum);
  });
}

}  // namespace

void norm_avx512(const NormArgs& args, int64_t begin, int64_t end) {
  const auto count = static_cast<float>(args.dim);
  for (int64_t row = begin; row < end; ++row) {
    const float* x = args.x + row * args.x_stride;
    float* y = args.y + row * args.y_stride;
    const int64_t affine = row % args.weight_rows * args.dim;
    const float center = args.kind == NormKind::kLayer ? sum_of(x, args.dim) / count : 0.0F;
    const float variance = sum_of_squares(x, args.dim, center) / count;
    const __m512 factor = _mm512_set1_ps(1.0F / __builtin_sqrtf(variance + args.eps));
    const __m512 centers = _mm512_set1_ps(center);
    for (int64_t i = 0; i < args.dim; i += 16) {
      const __mmask16 inside = lane_mask_512(args.dim - i);
      __m512 value = _mm512_maskz_loadu_ps(inside, x + i);
      value = _mm512_mul_ps(_mm512_sub_ps(value, centers), factor);
      if (args.weight != nullptr)
        value = _mm512_mul_ps(value, _mm512_maskz_loadu_ps(inside, args.weight + affine + i));
      if (args.bias != nullptr)
        value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(inside, args.bias + affine + i));
      _mm512_mask_storeu_ps(y + i, inside, value);
    }
  }
}

}  // namespace ingot::cpu

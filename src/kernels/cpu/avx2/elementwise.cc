// SPDX-License-Identifier: Apache-2.0
// Elementwise ops, 8 values a vector; a tail goes through the same vector code, masked, so that a
// value's result does not depend on its place. Bound by arithmetic for the GELUs (in double), by
// memory for the rest.
#include "kernels/cpu/avx2/elementwise.h"

#include "kernels/cpu/avx2/math.h"
#include "kernels/cpu/avx2/vectors.h"

namespace ingot::cpu {
namespace {

// e = exp(-|x|) never overflows; x * sigmoid(x) = x / (1 + e), or x * e / (1 + e) for negative x.
__m256 silu(__m256 x) {
  const __m256 sign_bit = _mm256_set1_ps(-0.0F);
  const __m256 one = _mm256_set1_ps(1.0F);
  const __m256 e = exp_floats(_mm256_or_ps(x, sign_bit));
  const __m256 numerator = _mm256_mul_ps(x, _mm256_blendv_ps(one, e, x));
  return _mm256_div_ps(numerator, _mm256_add_ps(one, e));
}

__m256 gelu(__m256 x) {
  return by_doubles(x, [](__m256d v) { return _mm256_mul_pd(v, normal_cdf_doubles(v)); });
}

__m256 gelu_tanh(__m256 x) {
  return by_doubles(x, [](__m256d v) {
    // 2 * sqrt(2 / pi) * (v + 0.044715 v^3); 0.5 (1 + tanh(u)) = sigmoid(2u)
    const __m256d cube = _mm256_mul_pd(_mm256_mul_pd(v, v), v);
    const __m256d inner = _mm256_fmadd_pd(cube, _mm256_set1_pd(0.044715), v);
    const __m256d twice = _mm256_mul_pd(inner, _mm256_set1_pd(1.5957691216057308));
    return _mm256_mul_pd(v, sigmoid_doubles(twice));
  });
}

__m256 gelu_quick(__m256 x) {
  return by_doubles(x, [](__m256d v) {
    return _mm256_mul_pd(v, sigmoid_doubles(_mm256_mul_pd(v, _mm256_set1_pd(1.702))));
  });
}

__m256 relu(__m256 x) {
  return _mm256_max_ps(_mm256_setzero_ps(), x);  // in this order a NaN stays one
}

__m256 relu_squared(__m256 x) {
  const __m256 positive = relu(x);
  return _mm256_mul_ps(positive, positive);
}

// out[i] = function(in[i]) (* up[i]): whole vectors, then one masked for the tail.
template <class Function>
void map(const float* in, const float* up, float* out, int64_t count, Function function) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256 value = function(_mm256_loadu_ps(in + i));
    if (up != nullptr) value = _mm256_mul_ps(value, _mm256_loadu_ps(up + i));
    _mm256_storeu_ps(out + i, value);
  }
  if (i == count) return;
  const __m256i mask = lane_mask(count - i);
  __m256 value = function(_mm256_maskload_ps(in + i, mask));
  if (up != nullptr) value = _mm256_mul_ps(value, _mm256_maskload_ps(up + i, mask));
  _mm256_maskstore_ps(out + i, mask, value);
}

}  // namespace

void activate_avx2(Activation activation, const float* gate, const float* up, float* out,
                   int64_t count) {
  switch (activation) {
    case Activation::kSilu:
      return map(gate, up, out, count, silu);
    case Activation::kGelu:
      return map(gate, up, out, count, gelu);
    case Activation::kGeluTanh:
      return map(gate, up, out, count, gelu_tanh);
    case Activation::kGeluQuick:
      return map(gate, up, out, count, gelu_quick);
    case Activation::kRelu:
      return map(gate, up, out, count, relu);
    case Activation::kReluSquared:
      return map(gate, up, out, count, relu_squared);
  }
}

void add_scaled_avx2(float* y, const float* x, float factor, int64_t count) {
  const __m256 factors = _mm256_set1_ps(factor);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 term = _mm256_mul_ps(factors, _mm256_loadu_ps(x + i));
    _mm256_storeu_ps(y + i, _mm256_add_ps(_mm256_loadu_ps(y + i), term));
  }
  for (; i < count; ++i)
    y[i] += factor * x[i];
}

void softcap_avx2(float* y, float cap, int64_t count) {
  const __m256d limit = _mm256_set1_pd(static_cast<double>(cap));
  map(y, nullptr, y, count, [limit](__m256 x) {
    return by_doubles(x, [limit](__m256d v) {
      return _mm256_mul_pd(limit, tanh_doubles(_mm256_div_pd(v, limit)));
    });
  });
}

}  // namespace ingot::cpu

// SPDX-License-Identifier: Apache-2.0
// Elementwise ops, 16 values a vector; a tail goes through the same vector code, masked, so that a
// value's result does not depend on its place. Bound by arithmetic for the GELUs (in double), by
// memory for the rest. Show it with `ingot bench kernels elementwise`.
#include "kernels/cpu/avx512/elementwise.h"

#include "kernels/cpu/avx512/math.h"
#include "kernels/cpu/avx512/vectors.h"

namespace ingot::cpu {
namespace {

// e = exp(-|x|) never overflows; x * sigmoid(x) = x / (1 + e), or x * e / (1 + e) for negative x.
__m512 silu(__m512 x) {
  const __m512 one = _mm512_set1_ps(1.0F);
  const __m512 e = exp_floats(_mm512_or_ps(x, _mm512_set1_ps(-0.0F)));
  const __mmask16 is_negative = _mm512_movepi32_mask(_mm512_castps_si512(x));
  const __m512 numerator = _mm512_mask_mul_ps(x, is_negative, x, e);
  return _mm512_div_ps(numerator, _mm512_add_ps(one, e));
}

__m512 gelu(__m512 x) {
  return by_doubles(x, [](__m512d v) { return _mm512_mul_pd(v, normal_cdf_doubles(v)); });
}

__m512 gelu_tanh(__m512 x) {
  return by_doubles(x, [](__m512d v) {
    // 2 * sqrt(2 / pi) * (v + 0.044715 v^3); 0.5 (1 + tanh(u)) = sigmoid(2u)
    const __m512d cube = _mm512_mul_pd(_mm512_mul_pd(v, v), v);
    const __m512d inner = _mm512_fmadd_pd(cube, _mm512_set1_pd(0.044715), v);
    const __m512d twice = _mm512_mul_pd(inner, _mm512_set1_pd(1.5957691216057308));
    return _mm512_mul_pd(v, sigmoid_doubles(twice));
  });
}

__m512 gelu_quick(__m512 x) {
  return by_doubles(x, [](__m512d v) {
    return _mm512_mul_pd(v, sigmoid_doubles(_mm512_mul_pd(v, _mm512_set1_pd(1.702))));
  });
}

__m512 relu(__m512 x) {
  return _mm512_max_ps(_mm512_setzero_ps(), x);  // in this order a NaN stays one
}

__m512 relu_squared(__m512 x) {
  const __m512 positive = relu(x);
  return _mm512_mul_ps(positive, positive);
}

// out[i] = function(in[i]) (* up[i])
template <class Function>
void map(const float* in, const float* up, float* out, int64_t count, Function function) {
  for (int64_t i = 0; i < count; i += 16) {
    const __mmask16 inside = lane_mask_512(count - i);
    __m512 value = function(_mm512_maskz_loadu_ps(inside, in + i));
    if (up != nullptr) value = _mm512_mul_ps(value, _mm512_maskz_loadu_ps(inside, up + i));
    _mm512_mask_storeu_ps(out + i, inside, value);
  }
}

}  // namespace

void activate_avx512(Activation activation, const float* gate, const float* up, float* out,
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

void add_scaled_avx512(float* y, const float* x, float factor, int64_t count) {
  const __m512 factors = _mm512_set1_ps(factor);
  for (int64_t i = 0; i < count; i += 16) {
    const __mmask16 inside = lane_mask_512(count - i);
    const __m512 term = _mm512_mul_ps(factors, _mm512_maskz_loadu_ps(inside, x + i));
    const __m512 sum = _mm512_add_ps(_mm512_maskz_loadu_ps(inside, y + i), term);
    _mm512_mask_storeu_ps(y + i, inside, sum);
  }
}

void softcap_avx512(float* y, float cap, int64_t count) {
  const __m512d limit = _mm512_set1_pd(static_cast<double>(cap));
  map(y, nullptr, y, count, [limit](__m512 x) {
    return by_doubles(x, [limit](__m512d v) {
      return _mm512_mul_pd(limit, tanh_doubles(_mm512_div_pd(v, limit)));
    });
  });
}

}  // namespace ingot::cpu

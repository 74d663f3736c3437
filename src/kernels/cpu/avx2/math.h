// SPDX-License-Identifier: Apache-2.0
// exp, tanh and erfc in vectors. The float exp is for softmax and SiLU, whose argument is exact
// (about 1 ulp). The others work in double, where a rounded argument does no harm, and are near
// enough that the result rounds to the right float but for rare ties. Anonymous, as vectors.h
// explains.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace ingot::cpu {
namespace {

// e^r with r = x - n ln 2, |r| <= ln 2 / 2: a Taylor series to r^7 leaves 5e-9.
[[maybe_unused]] inline __m256 exp_near_zero(__m256 x, __m256 n) {
  // ln 2 in two parts; the first has few bits, so that n times it is exact.
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375F), x);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4F), r);
  __m256 p = _mm256_set1_ps(1.0F / 5040);
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 720));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 120));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 24));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 6));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5F));
  p = _mm256_fmadd_ps(_mm256_mul_ps(r, r), p, r);
  return _mm256_add_ps(p, _mm256_set1_ps(1.0F));
}

// 2^n * e^r. 0 below -104, infinity above 89.
[[maybe_unused]] inline __m256 exp_floats(__m256 x) {
  const __m256 clamped =  // the operand order lets a NaN through
      _mm256_max_ps(_mm256_set1_ps(-104.0F), _mm256_min_ps(_mm256_set1_ps(89.0F), x));
  const __m256 n = _mm256_round_ps(_mm256_mul_ps(clamped, _mm256_set1_ps(1.44269504F)),
                                   _MM_FROUND_TO_NEAREST_INT);
  const __m256 p = exp_near_zero(clamped, n);
  // Two steps of scaling, as 2^n alone may be subnormal or too large.
  const __m256i whole = _mm256_cvtps_epi32(n);
  const __m256i half = _mm256_srai_epi32(whole, 1);
  const __m256i bias = _mm256_set1_epi32(127);
  const __m256i first = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
  const __m256i second =
      _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(whole, half), bias), 23);
  return _mm256_mul_ps(_mm256_mul_ps(p, _mm256_castsi256_ps(first)), _mm256_castsi256_ps(second));
}

// For x <= 0, with 0 for what would be subnormal (below -87).
[[maybe_unused]] inline __m256 exp_not_positive(__m256 x) {
  const __m256 lowest = _mm256_set1_ps(-87.0F);
  const __m256 clamped = _mm256_max_ps(lowest, x);  // in this order a NaN stays one
  const __m256 n = _mm256_round_ps(_mm256_mul_ps(clamped, _mm256_set1_ps(1.44269504F)),
                                   _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m256 p = exp_near_zero(clamped, n);
  // p is in [0.7, 1.42] and the result normal: adding to the exponent scales exactly.
  const __m256i scaled =
      _mm256_add_epi32(_mm256_castps_si256(p), _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23));
  return _mm256_and_ps(_mm256_castsi256_ps(scaled), _mm256_cmp_ps(x, lowest, _CMP_NLE_UQ));
}

// Relative error 1e-14; the argument is held within +-700.
[[maybe_unused]] inline __m256d exp_doubles(__m256d x) {
  const __m256d clamped =
      _mm256_max_pd(_mm256_set1_pd(-700.0), _mm256_min_pd(_mm256_set1_pd(700.0), x));
  const __m256d n = _mm256_round_pd(_mm256_mul_pd(clamped, _mm256_set1_pd(1.4426950408889634)),
                                    _MM_FROUND_TO_NEAREST_INT);
  __m256d r = _mm256_fnmadd_pd(n, _mm256_set1_pd(0.6931471803691238), clamped);
  r = _mm256_fnmadd_pd(n, _mm256_set1_pd(1.9082149292705877e-10), r);
  __m256d p = _mm256_set1_pd(1.0 / 39916800);
  p = _mm256_fmadd_pd(p, r, _mm256_set1_pd(1.0 / 3628800));
  p = _mm256_fmadd_pd(p, r, _mm256_set1_pd(1.0 / 362880));
  p = _mm256_fmadd_pd(p, r, _mm256_set1_pd(1.0 / 40320));
  p = _mm256_fmadd_pd(p, r, _mm256_set1_pd(1.0 / 5040));
  p = _mm256_fmadd_pd(p, r, _mm256_set1_pd(1.0 / 720));
  p = _mm256_fmadd_pd(p, r, _mm256_set1_pd(1.0 / 120));
  p = _mm256_fmadd_pd(p, r, _mm256_set1_pd(1.0 / 24));
  p = _mm256_fmadd_pd(p, r, _mm256_set1_pd(1.0 / 6));
  p = _mm256_fmadd_pd(p, r, _mm256_set1_pd(0.5));
  p = _mm256_fmadd_pd(p, r, _mm256_set1_pd(1.0));
  p = _mm256_fmadd_pd(p, r, _mm256_set1_pd(1.0));
  const __m256i whole = _mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(n));
  const __m256i power = _mm256_slli_epi64(_mm256_add_epi64(whole, _mm256_set1_epi64x(1023)), 52);
  return _mm256_mul_pd(p, _mm256_castsi256_pd(power));
}

// 1 / (1 + e^-x)
[[maybe_unused]] inline __m256d sigmoid_doubles(__m256d x) {
  const __m256d one = _mm256_set1_pd(1.0);
  const __m256d e = exp_doubles(_mm256_sub_pd(_mm256_setzero_pd(), x));
  return _mm256_div_pd(one, _mm256_add_pd(one, e));
}

[[maybe_unused]] inline __m256d tanh_doubles(__m256d x) {
  const __m256d sign = _mm256_and_pd(x, _mm256_set1_pd(-0.0));
  const __m256d u = _mm256_xor_pd(x, sign);
  const __m256d e = exp_doubles(_mm256_mul_pd(u, _mm256_set1_pd(-2.0)));
  const __m256d one = _mm256_set1_pd(1.0);
  const __m256d far = _mm256_div_pd(_mm256_sub_pd(one, e), _mm256_add_pd(one, e));
  // Near 0 the difference above loses digits: x - x^3/3 + 2x^5/15 - 17x^7/315.
  const __m256d square = _mm256_mul_pd(u, u);
  __m256d near = _mm256_set1_pd(-17.0 / 315);
  near = _mm256_fmadd_pd(near, square, _mm256_set1_pd(2.0 / 15));
  near = _mm256_fmadd_pd(near, square, _mm256_set1_pd(-1.0 / 3));
  near = _mm256_fmadd_pd(_mm256_mul_pd(near, square), u, u);
  const __m256d is_near = _mm256_cmp_pd(u, _mm256_set1_pd(0x1p-6), _CMP_LT_OQ);
  return _mm256_or_pd(_mm256_blendv_pd(far, near, is_near), sign);
}

// e^(z^2) erfc(z) for 0 <= z <= 11: a polynomial in t = (z - 3) / (z + 3), Chebyshev-fitted,
// relative error 1e-10.
[[maybe_unused]] inline __m256d scaled_erfc_doubles(__m256d z) {
  constexpr double kCoefficients[] = {
      -6.487473397951595e-06, -9.112070345531368e-06, 6.397198223496187e-05, 4.280790939914013e-05,
      -0.0005974504476764559, 0.0007084984245970133,  0.004269286088989254,  -0.02439261381460923,
      0.07166581770993449,    -0.1501159286712829,    0.24560380251848196,   -0.3262335602049788,
      0.17900115117673163};
  const __m256d three = _mm256_set1_pd(3.0);
  const __m256d t = _mm256_div_pd(_mm256_sub_pd(z, three), _mm256_add_pd(z, three));
  __m256d p = _mm256_setzero_pd();
  for (const double coefficient : kCoefficients)
    p = _mm256_fmadd_pd(p, t, _mm256_set1_pd(coefficient));
  return p;
}

// The normal distribution's share below x, accurate far into both tails.
[[maybe_unused]] inline __m256d normal_cdf_doubles(__m256d x) {
  const __m256d sign = _mm256_and_pd(x, _mm256_set1_pd(-0.0));
  const __m256d magnitude = _mm256_min_pd(_mm256_xor_pd(x, sign), _mm256_set1_pd(15.5));
  const __m256d z = _mm256_mul_pd(magnitude, _mm256_set1_pd(0.7071067811865476));
  const __m256d e =
      exp_doubles(_mm256_mul_pd(_mm256_mul_pd(magnitude, magnitude), _mm256_set1_pd(-0.5)));
  const __m256d tail = _mm256_mul_pd(_mm256_mul_pd(e, scaled_erfc_doubles(z)), _mm256_set1_pd(0.5));
  return _mm256_blendv_pd(_mm256_sub_pd(_mm256_set1_pd(1.0), tail), tail, sign);
}

// function(4 doubles) on 8 floats.
template <class Function>
[[maybe_unused]] inline __m256 by_doubles(__m256 x, Function function) {
  const __m128 low = _mm256_cvtpd_ps(function(_mm256_cvtps_pd(_mm256_castps256_ps128(x))));
  const __m128 high = _mm256_cvtpd_ps(function(_mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))));
  return _mm256_set_m128(high, low);
}

}  // namespace
}  // namespace ingot::cpu

// SPDX-License-Identifier: Apache-2.0
// exp, tanh and erfc in vectors of 512 bits. The float exp is for softmax and SiLU, whose argument
// is exact (about 1 ulp). The others work in double, where a rounded argument does no harm, and are
// near enough that the result rounds to the right float but for rare ties. Anonymous, as vectors.h
// explains.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace ingot::cpu {
namespace {

// e^x = 2^n * e^r with |r| <= ln 2 / 2; a Taylor series to r^7 leaves 5e-9.
[[maybe_unused]] inline __m512 nearest_power(__m512 x) {
  return _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504F)),
                              _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
[[maybe_unused]] inline __m512 exp_near_zero(__m512 x, __m512 n) {
  // ln 2 in two parts; the first has few bits, so that n times it is exact.
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375F), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4F), r);
  __m512 p = _mm512_set1_ps(1.0F / 5040);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0F / 720));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0F / 120));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0F / 24));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0F / 6));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5F));
  p = _mm512_fmadd_ps(_mm512_mul_ps(r, r), p, r);
  return _mm512_add_ps(p, _mm512_set1_ps(1.0F));
}
// 0 below -104, infinity above 89. The operand order lets a NaN through; the scaling rounds into
// the subnormals by itself.
[[maybe_unused]] inline __m512 exp_floats(__m512 x) {
  const __m512 clamped =
      _mm512_max_ps(_mm512_set1_ps(-104.0F), _mm512_min_ps(_mm512_set1_ps(89.0F), x));
  const __m512 n = nearest_power(clamped);
  return _mm512_scalef_ps(exp_near_zero(clamped, n), n);
}
// For x <= 0, with 0 for what would be subnormal (below -87): Intel's processors take a hundred
// times as long for one, and a mask's scores would all end there. A NaN passes.
[[maybe_unused]] inline __m512 exp_not_positive(__m512 x) {
  const __m512 lowest = _mm512_set1_ps(-87.0F);
  const __m512 clamped = _mm512_max_ps(lowest, x);
  const __m512 n = nearest_power(clamped);
  return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, lowest, _CMP_NLE_UQ),
                                exp_near_zero(clamped, n), n);
}

// Relative error 1e-14; the argument is held within +-700.
[[maybe_unused]] inline __m512d exp_doubles(__m512d x) {
  const __m512d clamped =
      _mm512_max_pd(_mm512_set1_pd(-700.0), _mm512_min_pd(_mm512_set1_pd(700.0), x));
  const __m512d n = _mm512_roundscale_pd(_mm512_mul_pd(clamped, _mm512_set1_pd(1.4426950408889634)),
                                         _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m512d r = _mm512_fnmadd_pd(n, _mm512_set1_pd(0.6931471803691238), clamped);
  r = _mm512_fnmadd_pd(n, _mm512_set1_pd(1.9082149292705877e-10), r);
  __m512d p = _mm512_set1_pd(1.0 / 39916800);
  p = _mm512_fmadd_pd(p, r, _mm512_set1_pd(1.0 / 3628800));
  p = _mm512_fmadd_pd(p, r, _mm512_set1_pd(1.0 / 362880));
  p = _mm512_fmadd_pd(p, r, _mm512_set1_pd(1.0 / 40320));
  p = _mm512_fmadd_pd(p, r, _mm512_set1_pd(1.0 / 5040));
  p = _mm512_fmadd_pd(p, r, _mm512_set1_pd(1.0 / 720));
  p = _mm512_fmadd_pd(p, r, _mm512_set1_pd(1.0 / 120));
  p = _mm512_fmadd_pd(p, r, _mm512_set1_pd(1.0 / 24));
  p = _mm512_fmadd_pd(p, r, _mm512_set1_pd(1.0 / 6));
  p = _mm512_fmadd_pd(p, r, _mm512_set1_pd(0.5));
  p = _mm512_fmadd_pd(p, r, _mm512_set1_pd(1.0));
  p = _mm512_fmadd_pd(p, r, _mm512_set1_pd(1.0));
  return _mm512_scalef_pd(p, n);
}

// 1 / (1 + e^-x)
[[maybe_unused]] inline __m512d sigmoid_doubles(__m512d x) {
  const __m512d one = _mm512_set1_pd(1.0);
  const __m512d e = exp_doubles(_mm512_sub_pd(_mm512_setzero_pd(), x));
  return _mm512_div_pd(one, _mm512_add_pd(one, e));
}

[[maybe_unused]] inline __m512d tanh_doubles(__m512d x) {
  const __m512d sign = _mm512_and_pd(x, _mm512_set1_pd(-0.0));
  const __m512d u = _mm512_xor_pd(x, sign);
  const __m512d e = exp_doubles(_mm512_mul_pd(u, _mm512_set1_pd(-2.0)));
  const __m512d one = _mm512_set1_pd(1.0);
  const __m512d far = _mm512_div_pd(_mm512_sub_pd(one, e), _mm512_add_pd(one, e));
  // Near 0 the difference above loses digits: x - x^3/3 + 2x^5/15 - 17x^7/315.
  const __m512d square = _mm512_mul_pd(u, u);
  __m512d near = _mm512_set1_pd(-17.0 / 315);
  near = _mm512_fmadd_pd(near, square, _mm512_set1_pd(2.0 / 15));
  near = _mm512_fmadd_pd(near, square, _mm512_set1_pd(-1.0 / 3));
  near = _mm512_fmadd_pd(_mm512_mul_pd(near, square), u, u);
  const __mmask8 is_near = _mm512_cmp_pd_mask(u, _mm512_set1_pd(0x1p-6), _CMP_LT_OQ);
  return _mm512_or_pd(_mm512_mask_blend_pd(is_near, far, near), sign);
}

// e^(z^2) erfc(z) for 0 <= z <= 11: a polynomial in t = (z - 3) / (z + 3), Chebyshev-fitted,
// relative error 1e-10.
[[maybe_unused]] inline __m512d scaled_erfc_doubles(__m512d z) {
  constexpr double kCoefficients[] = {
      -6.487473397951595e-06, -9.112070345531368e-06, 6.397198223496187e-05, 4.280790939914013e-05,
      -0.0005974504476764559, 0.0007084984245970133,  0.004269286088989254,  -0.02439261381460923,
      0.07166581770993449,    -0.1501159286712829,    0.24560380251848196,   -0.3262335602049788,
      0.17900115117673163};
  const __m512d three = _mm512_set1_pd(3.0);
  const __m512d t = _mm512_div_pd(_mm512_sub_pd(z, three), _mm512_add_pd(z, three));
  __m512d p = _mm512_setzero_pd();
  for (const double coefficient : kCoefficients)
    p = _mm512_fmadd_pd(p, t, _mm512_set1_pd(coefficient));
  return p;
}

// The normal distribution's share below x, accurate far into both tails.
[[maybe_unused]] inline __m512d normal_cdf_doubles(__m512d x) {
  const __m512d sign = _mm512_and_pd(x, _mm512_set1_pd(-0.0));
  const __m512d magnitude = _mm512_min_pd(_mm512_xor_pd(x, sign), _mm512_set1_pd(15.5));
  const __m512d z = _mm512_mul_pd(magnitude, _mm512_set1_pd(0.7071067811865476));
  const __m512d e =
      exp_doubles(_mm512_mul_pd(_mm512_mul_pd(magnitude, magnitude), _mm512_set1_pd(-0.5)));
  const __m512d tail = _mm512_mul_pd(_mm512_mul_pd(e, scaled_erfc_doubles(z)), _mm512_set1_pd(0.5));
  const __mmask8 is_negative = _mm512_movepi64_mask(_mm512_castpd_si512(x));
  return _mm512_mask_sub_pd(tail, static_cast<__mmask8>(~is_negative), _mm512_set1_pd(1.0), tail);
}

// function(8 doubles) on 16 floats.
template <class Function>
[[maybe_unused]] inline __m512 by_doubles(__m512 x, Function function) {
  const __m256 low = _mm512_cvtpd_ps(function(_mm512_cvtps_pd(_mm512_castps512_ps256(x))));
  const __m256 high = _mm512_cvtpd_ps(function(_mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))));
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

}  // namespace
}  // namespace ingot::cpu

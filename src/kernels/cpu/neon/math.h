// SPDX-License-Identifier: Apache-2.0
// exp, tanh and erfc in vectors, by the steps of the AVX2 ones. The float exp is for softmax and
// SiLU, whose argument is exact (about 1 ulp). The others work in double, where a rounded argument
// does no harm, and are near enough that the result rounds to the right float but for rare ties.
// Anonymous, as vectors.h explains.
#pragma once

#include <arm_neon.h>

#include <cstdint>

namespace ingot::cpu {
namespace {

// 2^n * e^r with |r| <= ln 2 / 2; a Taylor series to r^7 leaves 5e-9. 0 below -104, infinity
// above 89; a NaN stays one.
[[maybe_unused]] inline float32x4_t exp_floats(float32x4_t x) {
  const float32x4_t clamped = vmaxq_f32(vdupq_n_f32(-104.0F), vminq_f32(vdupq_n_f32(89.0F), x));
  const float32x4_t n = vrndnq_f32(vmulq_n_f32(clamped, 1.44269504F));
  // ln 2 in two parts; the first has few bits, so that n times it is exact.
  float32x4_t r = vfmsq_f32(clamped, n, vdupq_n_f32(0.693359375F));
  r = vfmsq_f32(r, n, vdupq_n_f32(-2.12194440e-4F));
  float32x4_t p = vdupq_n_f32(1.0F / 5040);
  p = vfmaq_f32(vdupq_n_f32(1.0F / 720), p, r);
  p = vfmaq_f32(vdupq_n_f32(1.0F / 120), p, r);
  p = vfmaq_f32(vdupq_n_f32(1.0F / 24), p, r);
  p = vfmaq_f32(vdupq_n_f32(1.0F / 6), p, r);
  p = vfmaq_f32(vdupq_n_f32(0.5F), p, r);
  p = vfmaq_f32(r, vmulq_f32(r, r), p);
  p = vaddq_f32(p, vdupq_n_f32(1.0F));
  // Two steps of scaling, as 2^n alone may be subnormal or too large.
  const int32x4_t whole = vcvtq_s32_f32(n);
  const int32x4_t half = vshrq_n_s32(whole, 1);
  const int32x4_t bias = vdupq_n_s32(127);
  const int32x4_t first = vshlq_n_s32(vaddq_s32(half, bias), 23);
  const int32x4_t second = vshlq_n_s32(vaddq_s32(vsubq_s32(whole, half), bias), 23);
  return vmulq_f32(vmulq_f32(p, vreinterpretq_f32_s32(first)), vreinterpretq_f32_s32(second));
}

// Relative error 1e-14; the argument is held within +-700.
[[maybe_unused]] inline float64x2_t exp_doubles(float64x2_t x) {
  const float64x2_t clamped = vmaxq_f64(vdupq_n_f64(-700.0), vminq_f64(vdupq_n_f64(700.0), x));
  const float64x2_t n = vrndnq_f64(vmulq_n_f64(clamped, 1.4426950408889634));
  float64x2_t r = vfmsq_f64(clamped, n, vdupq_n_f64(0.6931471803691238));
  r = vfmsq_f64(r, n, vdupq_n_f64(1.9082149292705877e-10));
  constexpr double kCoefficients[] = {1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                                      1.0 / 720,     1.0 / 120,    1.0 / 24,    1.0 / 6,
                                      0.5,           1.0,          1.0};
  float64x2_t p = vdupq_n_f64(1.0 / 39916800);
  for (const double coefficient : kCoefficients)
    p = vfmaq_f64(vdupq_n_f64(coefficient), p, r);
  const int64x2_t power = vshlq_n_s64(vaddq_s64(vcvtq_s64_f64(n), vdupq_n_s64(1023)), 52);
  return vmulq_f64(p, vreinterpretq_f64_s64(power));
}

// 1 / (1 + e^-x)
[[maybe_unused]] inline float64x2_t sigmoid_doubles(float64x2_t x) {
  const float64x2_t one = vdupq_n_f64(1.0);
  return vdivq_f64(one, vaddq_f64(one, exp_doubles(vnegq_f64(x))));
}

[[maybe_unused]] inline float64x2_t tanh_doubles(float64x2_t x) {
  const float64x2_t u = vabsq_f64(x);
  const float64x2_t e = exp_doubles(vmulq_n_f64(u, -2.0));
  const float64x2_t one = vdupq_n_f64(1.0);
  const float64x2_t far = vdivq_f64(vsubq_f64(one, e), vaddq_f64(one, e));
  // Near 0 the difference above loses digits: x - x^3/3 + 2x^5/15 - 17x^7/315.
  const float64x2_t square = vmulq_f64(u, u);
  float64x2_t near = vdupq_n_f64(-17.0 / 315);
  near = vfmaq_f64(vdupq_n_f64(2.0 / 15), near, square);
  near = vfmaq_f64(vdupq_n_f64(-1.0 / 3), near, square);
  near = vfmaq_f64(u, vmulq_f64(near, square), u);
  const float64x2_t size = vbslq_f64(vcltq_f64(u, vdupq_n_f64(0x1p-6)), near, far);
  return vbslq_f64(vdupq_n_u64(uint64_t{1} << 63), x, size);
}

// e^(z^2) erfc(z) for 0 <= z <= 11: a polynomial in t = (z - 3) / (z + 3), Chebyshev-fitted,
// relative error 1e-10.
[[maybe_unused]] inline float64x2_t scaled_erfc_doubles(float64x2_t z) {
  constexpr double kCoefficients[] = {
      -6.487473397951595e-06, -9.112070345531368e-06, 6.397198223496187e-05, 4.280790939914013e-05,
      -0.0005974504476764559, 0.0007084984245970133,  0.004269286088989254,  -0.02439261381460923,
      0.07166581770993449,    -0.1501159286712829,    0.24560380251848196,   -0.3262335602049788,
      0.17900115117673163};
  const float64x2_t three = vdupq_n_f64(3.0);
  const float64x2_t t = vdivq_f64(vsubq_f64(z, three), vaddq_f64(z, three));
  float64x2_t p = vdupq_n_f64(0.0);
  for (const double coefficient : kCoefficients)
    p = vfmaq_f64(vdupq_n_f64(coefficient), p, t);
  return p;
}

// The normal distribution's share below x, accurate far into both tails.
[[maybe_unused]] inline float64x2_t normal_cdf_doubles(float64x2_t x) {
  const float64x2_t magnitude = vminq_f64(vabsq_f64(x), vdupq_n_f64(15.5));
  const float64x2_t z = vmulq_n_f64(magnitude, 0.7071067811865476);
  const float64x2_t e = exp_doubles(vmulq_n_f64(vmulq_f64(magnitude, magnitude), -0.5));
  const float64x2_t tail = vmulq_n_f64(vmulq_f64(e, scaled_erfc_doubles(z)), 0.5);
  return vbslq_f64(vcltzq_f64(x), tail, vsubq_f64(vdupq_n_f64(1.0), tail));
}

// function(2 doubles) on 4 floats.
template <class Function>
[[maybe_unused]] inline float32x4_t by_doubles(float32x4_t x, Function function) {
  const float32x2_t low = vcvt_f32_f64(function(vcvt_f64_f32(vget_low_f32(x))));
  return vcvt_high_f32_f64(low, function(vcvt_high_f64_f32(x)));
}

}  // namespace
}  // namespace ingot::cpu

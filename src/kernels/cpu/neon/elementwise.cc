// SPDX-License-Identifier: Apache-2.0
// Elementwise ops, 4 values a vector; a tail goes through the same vector code, padded, so that a
// value's result does not depend on its place. Bound by arithmetic for the GELUs (in double), by
// memory for the rest.
#include "kernels/cpu/neon/elementwise.h"

#include <cstddef>

#include "kernels/cpu/neon/math.h"

namespace ingot::cpu {
namespace {

// e = exp(-|x|) never overflows; x * sigmoid(x) = x / (1 + e), or x * e / (1 + e) for negative x.
float32x4_t silu(float32x4_t x) {
  const float32x4_t one = vdupq_n_f32(1.0F);
  const float32x4_t e = exp_floats(vnegq_f32(vabsq_f32(x)));
  const float32x4_t numerator = vmulq_f32(x, vbslq_f32(vcltzq_f32(x), e, one));
  return vdivq_f32(numerator, vaddq_f32(one, e));
}

float32x4_t gelu(float32x4_t x) {
  return by_doubles(x, [](float64x2_t v) { return vmulq_f64(v, normal_cdf_doubles(v)); });
}

float32x4_t gelu_tanh(float32x4_t x) {
  return by_doubles(x, [](float64x2_t v) {
    // 2 * sqrt(2 / pi) * (v + 0.044715 v^3); 0.5 (1 + tanh(u)) = sigmoid(2u)
    const float64x2_t cube = vmulq_f64(vmulq_f64(v, v), v);
    const float64x2_t inner = vfmaq_f64(v, cube, vdupq_n_f64(0.044715));
    return vmulq_f64(v, sigmoid_doubles(vmulq_n_f64(inner, 1.5957691216057308)));
  });
}

float32x4_t gelu_quick(float32x4_t x) {
  return by_doubles(
      x, [](float64x2_t v) { return vmulq_f64(v, sigmoid_doubles(vmulq_n_f64(v, 1.702))); });
}

float32x4_t relu(float32x4_t x) {
  return vmaxq_f32(vdupq_n_f32(0.0F), x);
}

float32x4_t relu_squared(float32x4_t x) {
  const float32x4_t positive = relu(x);
  return vmulq_f32(positive, positive);
}

float32x4_t load_some(const float* from, int64_t count) {
  float lanes[4] = {};
  __builtin_memcpy(lanes, from, static_cast<size_t>(count) * sizeof(float));
  return vld1q_f32(lanes);
}

// out[i] = function(in[i]) (* up[i]): whole vectors, then a padded one for the tail.
template <class Function>
void map(const float* in, const float* up, float* out, int64_t count, Function function) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    float32x4_t value = function(vld1q_f32(in + i));
    if (up != nullptr) value = vmulq_f32(value, vld1q_f32(up + i));
    vst1q_f32(out + i, value);
  }
  if (i == count) return;
  float32x4_t value = function(load_some(in + i, count - i));
  if (up != nullptr) value = vmulq_f32(value, load_some(up + i, count - i));
  float lanes[4];
  vst1q_f32(lanes, value);
  __builtin_memcpy(out + i, lanes, static_cast<size_t>(count - i) * sizeof(float));
}

}  // namespace

void activate_neon(Activation activation, const float* gate, const float* up, float* out,
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

void add_scaled_neon(float* y, const float* x, float factor, int64_t count) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4)
    vst1q_f32(y + i, vaddq_f32(vld1q_f32(y + i), vmulq_n_f32(vld1q_f32(x + i), factor)));
  for (; i < count; ++i)
    y[i] += factor * x[i];
}

void softcap_neon(float* y, float cap, int64_t count) {
  const float64x2_t limit = vdupq_n_f64(static_cast<double>(cap));
  map(y, nullptr, y, count, [limit](float32x4_t x) {
    return by_doubles(
        x, [limit](float64x2_t v) { return vmulq_f64(limit, tanh_doubles(vdivq_f64(v, limit))); });
  });
}

}  // namespace ingot::cpu

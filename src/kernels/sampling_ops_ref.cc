// SPDX-License-Identifier: Apache-2.0
#include "kernels/sampling_ops_ref.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ingot::ref {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The one order in which 8 lanes are summed.
float sum_lanes(const float (&lane)[8]) {
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

// e^a for kLowestExponent < a <= 0: 2^n e^r with |r| <= ln 2 / 2, Taylor to r^7 (5e-9). The fused
// steps are part of the definition: the vector kernels have the same roundings.
float exp_of(float a) {
  const float n = std::nearbyint(a * 1.44269504F);
  // ln 2 in two parts; the first has few bits, so that n times it is exact.
  float r = std::fma(n, -0.693359375F, a);
  r = std::fma(n, 2.12194440e-4F, r);
  float p = 1.0F / 5040;
  p = std::fma(p, r, 1.0F / 720);
  p = std::fma(p, r, 1.0F / 120);
  p = std::fma(p, r, 1.0F / 24);
  p = std::fma(p, r, 1.0F / 6);
  p = std::fma(p, r, 0.5F);
  p = std::fma(r * r, p, r);
  return std::ldexp(p + 1.0F, static_cast<int>(n));
}

}  // namespace

bool scan_logits(const float* x, size_t count, float* block_max) {
  bool has_nan = false;
  for (size_t begin = 0; begin < count; begin += kLogitBlock) {
    float best = -kInfinity;
    for (size_t i = begin; i < std::min(begin + kLogitBlock, count); ++i) {
      has_nan = has_nan || std::isnan(x[i]);
      best = std::max(best, x[i]);
    }
    block_max[begin / kLogitBlock] = best;
  }
  return !has_nan;
}

WeightSums weigh_logits(const float* x, size_t count, float top, float scale, float* weights,
                        float* block_sums) {
  WeightSums sums;
  for (size_t begin = 0; begin < count; begin += kLogitBlock) {
    float weight_lanes[8] = {};
    float exponent_lanes[8] = {};
    for (size_t i = begin; i < std::min(begin + kLogitBlock, count); ++i) {
      const float a = std::max((x[i] - top) * scale, kLowestExponent);
      const float w = a > kLowestExponent ? exp_of(a) : 0.0F;
      weight_lanes[i % 8] += w;
      exponent_lanes[i % 8] = std::fma(w, a, exponent_lanes[i % 8]);
      if (weights != nullptr) weights[i] = w;
    }
    const float block = sum_lanes(weight_lanes);
    block_sums[begin / kLogitBlock] = block;
    sums.weight += static_cast<double>(block);
    sums.exponent += static_cast<double>(sum_lanes(exponent_lanes));
  }
  return sums;
}

size_t collect_logits(const float* x, size_t count, const float* block_max, float floor,
                      uint32_t* positions) {
  size_t found = 0;
  for (size_t begin = 0; begin < count; begin += kLogitBlock) {
    if (block_max[begin / kLogitBlock] < floor) continue;
    for (size_t i = begin; i < std::min(begin + kLogitBlock, count); ++i)
      if (x[i] >= floor) positions[found++] = static_cast<uint32_t>(i);
  }
  return found;
}

void mask_logits(const float* x, size_t count, const uint32_t* mask, float* out) {
  for (size_t i = 0; i < count; ++i)
    out[i] = ((mask[i / 32] >> (i % 32)) & 1u) != 0 ? x[i] : -kInfinity;
}

LogitMoments logit_moments(const float* x, size_t count, float center) {
  LogitMoments moments;
  for (size_t begin = 0; begin < count; begin += kLogitBlock) {
    float sum_of[8] = {};
    float squares_of[8] = {};
    for (size_t i = begin; i < std::min(begin + kLogitBlock, count); ++i) {
      if (x[i] == -kInfinity) continue;
      const float d = x[i] - center;
      sum_of[i % 8] += d;
      squares_of[i % 8] = std::fma(d, d, squares_of[i % 8]);
      ++moments.count;
    }
    moments.sum += static_cast<double>(sum_lanes(sum_of));
    moments.squares += static_cast<double>(sum_lanes(squares_of));
  }
  return moments;
}

}  // namespace ingot::ref

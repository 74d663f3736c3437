// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_ref.h"

#include <algorithm>
#include <cmath>

namespace ingot::ref {
namespace {

void score(const float* q, int64_t queries, const PositionBlock& keys, float* scores,
           int64_t stride) {
  for (int64_t n = 0; n < queries; ++n) {
    for (int64_t i = 0; i < keys.count; ++i) {
      double sum = 0;
      for (int64_t d = 0; d < keys.dim; ++d) {
        sum += static_cast<double>(q[n * keys.dim + d]) *
               static_cast<double>(keys.data[i * keys.dim + d]);
      }
      scores[n * stride + i] = static_cast<float>(sum);
    }
  }
}

Softened soften(const SoftenArgs& args, float* scores, int64_t count) {
  float largest = -INFINITY;
  for (int64_t i = 0; i < count; ++i) {
    float logit = scores[i];
    if (args.key_factors != nullptr) logit *= args.key_factors[i];
    logit *= args.scale;
    if (args.softcap != 0) logit = args.softcap * std::tanh(logit / args.softcap);
    logit += args.slope * static_cast<float>(args.first_distance + i);
    scores[i] = logit;
    largest = std::max(largest, logit);
  }
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    scores[i] = std::exp(scores[i] - largest);
    sum += static_cast<double>(scores[i]);
    if (args.value_factors != nullptr) scores[i] *= args.value_factors[i];
  }
  return {largest, static_cast<float>(sum)};
}

void mix(const float* weights, int64_t stride, int64_t queries, const PositionBlock& values,
         float* out) {
  for (int64_t n = 0; n < queries; ++n) {
    for (int64_t i = 0; i < values.count; ++i) {
      for (int64_t d = 0; d < values.dim; ++d)
        out[n * values.dim + d] += weights[n * stride + i] * values.data[i * values.dim + d];
    }
  }
}

}  // namespace

constinit const AttentionMath kAttentionMath = {score, soften, mix};

}  // namespace ingot::ref

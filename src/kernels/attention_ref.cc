// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_ref.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/float_types.h"

namespace ingot::ref {
namespace {

float widen(float value) {
  return value;
}
float widen(Half value) {
  return to_float(value);
}
float widen(BFloat16 value) {
  return to_float(value);
}
void convert(float value, float& out) {
  out = value;
}
void convert(float value, Half& out) {
  out = to_half(value);
}
void convert(float value, BFloat16& out) {
  out = to_bfloat16(value);
}

template <class Element>
float element(const CacheRun& run, int64_t index, int64_t d) {
  Element value{};
  std::memcpy(&value, run.data + (index * run.dim + d) * static_cast<int64_t>(sizeof(Element)),
              sizeof(Element));
  return widen(value);
}

template <class Element>
void store(const float* from, int64_t count, std::byte* to) {
  for (int64_t i = 0; i < count; ++i) {
    Element value{};
    convert(from[i], value);
    std::memcpy(to + i * static_cast<int64_t>(sizeof(Element)), &value, sizeof(Element));
  }
}

template <class Element>
void score(const float* q, int64_t heads, const CacheRun& keys, float* scores, int64_t stride) {
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t i = 0; i < keys.count; ++i) {
      double sum = 0;
      for (int64_t d = 0; d < keys.dim; ++d) {
        sum += static_cast<double>(q[head * keys.dim + d]) *
               static_cast<double>(element<Element>(keys, i, d));
      }
      scores[head * stride + i] = static_cast<float>(sum);
    }
  }
}

template <class Element>
void mix(const float* weights, int64_t stride, int64_t heads, const CacheRun& values, float* out) {
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t i = 0; i < values.count; ++i) {
      for (int64_t d = 0; d < values.dim; ++d)
        out[head * values.dim + d] += weights[head * stride + i] * element<Element>(values, i, d);
    }
  }
}

float soften(const SoftenArgs& args, float* scores, int64_t count) {
  float largest = args.sink == nullptr ? -INFINITY : *args.sink;
  for (int64_t i = 0; i < count; ++i) {
    float logit = scores[i] * args.scale;
    if (args.softcap != 0) logit = args.softcap * std::tanh(logit / args.softcap);
    logit += args.slope * static_cast<float>(i - (count - 1));
    scores[i] = logit;
    largest = std::max(largest, logit);
  }
  double sum = args.sink == nullptr ? 0.0 : static_cast<double>(std::exp(*args.sink - largest));
  for (int64_t i = 0; i < count; ++i) {
    scores[i] = std::exp(scores[i] - largest);
    sum += static_cast<double>(scores[i]);
  }
  return static_cast<float>(sum);
}

template <class Element>
constexpr AttentionParts parts() {
  return {static_cast<int64_t>(sizeof(Element)), store<Element>, score<Element>, soften,
          mix<Element>};
}

}  // namespace

constinit const AttentionParts kAttentionF32 = parts<float>();
constinit const AttentionParts kAttentionF16 = parts<Half>();
constinit const AttentionParts kAttentionBf16 = parts<BFloat16>();

}  // namespace ingot::ref

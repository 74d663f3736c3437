// SPDX-License-Identifier: Apache-2.0
// Sixteen groups of weights turned so that lane g of x[i] is element i of group g, with a weight
// for the error of each: what every encoder loads first. And codes turned back into bytes.
#pragma once

#include "quant/encode/lanes.h"
#include "quant/encoders.h"

namespace ingot::quant::INGOT_TARGET {

template <size_t kSize>
struct GroupBatch {
  Lanes x[kSize];
  Lanes w[kSize];
};

// Copies kLanes groups from `from`, which has `count` of them; the rest are zeros.
template <size_t kSize>
inline void load_groups(const float* from, size_t count, Lanes (&to)[kSize]) {
  static_assert(kSize % kLanes == 0);
  alignas(64) float padded[kLanes * kSize];
  if (count < kLanes) {
    std::memset(padded, 0, sizeof(padded));
    std::memcpy(padded, from, count * kSize * sizeof(float));
    from = padded;
  }
  for (size_t part = 0; part < kSize; part += kLanes) {
    for (size_t g = 0; g < kLanes; ++g)
      to[part + g] = load(from + g * kSize + part);
    transpose(to + part);
  }
}

// Dead columns keep a little weight, or a group of them would have no best scale.
inline float importance_floor(const EncodeJob& job) {
  double sum = 0;
  for (size_t i = 0; i < job.cols; ++i)
    sum += static_cast<double>(job.importance[i]);
  const double mean = sum / static_cast<double>(job.cols);
  return mean > 0 ? static_cast<float>(mean * 1e-4) : 1.0F;
}

// Weights of groups first.. (counted in groups of kSize from the start of the job).
template <size_t kSize>
inline void load_importance(const EncodeJob& job, float floor, size_t first, size_t count,
                            Lanes (&to)[kSize]) {
  alignas(64) float gathered[kLanes * kSize];
  for (size_t g = 0; g < kLanes; ++g) {
    const size_t column = (first + (g < count ? g : 0)) * kSize % job.cols;
    std::memcpy(gathered + g * kSize, job.importance + column, kSize * sizeof(float));
  }
  load_groups<kSize>(gathered, kLanes, to);
  for (Lanes& weight : to)
    weight = higher_of(weight, Lanes{}) + floor;
}

// Calls encode(batch, first, count) for every sixteen groups of the job.
template <size_t kSize, class Encode>
inline void for_each_batch(const EncodeJob& job, Encode encode) {
  const size_t groups = job.elements / kSize;
  const float floor = job.importance != nullptr ? importance_floor(job) : 0.0F;
  GroupBatch<kSize> batch;
  for (Lanes& weight : batch.w)
    weight = broadcast(1.0F);
  for (size_t first = 0; first < groups; first += kLanes) {
    const size_t count = groups - first < kLanes ? groups - first : kLanes;
    load_groups<kSize>(job.values + first * kSize, count, batch.x);
    if (job.importance != nullptr) load_importance<kSize>(job, floor, first, count, batch.w);
    encode(batch, first, count);
  }
}

// Integers in lanes to bytes, one row a group.
template <size_t kSize>
inline void store_codes(Lanes (&codes)[kSize], uint8_t (&to)[kLanes][kSize]) {
  for (size_t part = 0; part < kSize; part += kLanes) {
    transpose(codes + part);
    for (size_t g = 0; g < kLanes; ++g) {
      const LaneInts whole = __builtin_convertvector(codes[part + g], LaneInts);
      const LaneBytes bytes = __builtin_convertvector(whole, LaneBytes);
      std::memcpy(to[g] + part, &bytes, sizeof(bytes));
    }
  }
}

}  // namespace ingot::quant::INGOT_TARGET

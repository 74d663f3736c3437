// SPDX-License-Identifier: Apache-2.0
// Scales as fp16 will store them: rounded before the codes are chosen, so that a code is the best
// one for the scale the reader sees.
#pragma once

#include "quant/encode/lanes.h"

namespace ingot::quant::INGOT_TARGET {

constexpr float kHighestHalf = 65504.0F;
constexpr float kLowestNormalHalf = 0x1p-14F;

// The nearest fp16, as float; beyond its range the largest finite one, and NaN likewise: a block
// with an infinite scale would poison a whole model.
inline Lanes round_to_half(Lanes v) {
  v = lower_of(higher_of(v, broadcast(-kHighestHalf)), broadcast(kHighestHalf));
  const LaneWords bits = reinterpret_cast<LaneWords>(v);
  const LaneWords rounded = (bits + 0xFFFu + ((bits >> 13) & 1u)) & ~0x1FFFu;
  constexpr float kTinyOnes = 0.75F;  // what lies below 2^-24 has no room in a sum with it
  const Lanes tiny = (v + kTinyOnes) - kTinyOnes;
  return magnitude(v) < kLowestNormalHalf ? tiny : reinterpret_cast<Lanes>(rounded);
}

// The bits of values that round_to_half has made.
inline void store_half_bits(Lanes v, uint16_t* to) {
  const LaneWords bits = reinterpret_cast<LaneWords>(v);
  const LaneWords normal = ((bits & 0x7FFFFFFFu) >> 13) - (112u << 10);
  const Lanes size = magnitude(v);
  const Lanes small = size < kLowestNormalHalf ? size : Lanes{};
  const LaneWords tiny =
      reinterpret_cast<LaneWords>(__builtin_convertvector(small * 0x1p24F, LaneInts));
  const LaneWords merged = size < kLowestNormalHalf ? tiny : normal;
  const LaneWords all = merged | ((bits >> 16) & 0x8000u);
  for (size_t i = 0; i < kLanes; ++i)
    to[i] = static_cast<uint16_t>(all[i]);
}

}  // namespace ingot::quant::INGOT_TARGET

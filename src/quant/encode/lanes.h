// SPDX-License-Identifier: Apache-2.0
// Sixteen floats side by side, and the few operations the encoders are written in. An encoder works
// on sixteen groups of weights at once, one to a lane, so that no sum crosses lanes and no group's
// result depends on its neighbours. Every operation is elementwise and none is fused, so each
// target's build of these files gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ingot::quant::INGOT_TARGET {

constexpr size_t kLanes = 16;
using Lanes [[gnu::vector_size(64)]] = float;
using LaneInts [[gnu::vector_size(64)]] = int32_t;  // also masks: -1 where a claim holds, else 0
using LaneWords [[gnu::vector_size(64)]] = uint32_t;
using LaneBytes [[gnu::vector_size(16)]] = int8_t;

inline Lanes broadcast(float value) {
  return value - Lanes{};
}

inline LaneInts broadcast(int32_t value) {
  LaneInts lanes;
  for (size_t i = 0; i < kLanes; ++i)
    lanes[i] = value;
  return lanes;
}

inline Lanes load(const float* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}

inline void store(Lanes lanes, float* to) {
  std::memcpy(to, &lanes, sizeof(lanes));
}

// The second operand where either is NaN.
inline Lanes lower_of(Lanes a, Lanes b) {
  return a < b ? a : b;
}
inline Lanes higher_of(Lanes a, Lanes b) {
  return a > b ? a : b;
}

inline Lanes magnitude(Lanes v) {
  return reinterpret_cast<Lanes>(reinterpret_cast<LaneInts>(v) & 0x7FFFFFFF);
}

// To the nearest integer, ties to even, for magnitudes up to 2^22.
inline Lanes round(Lanes v) {
  constexpr float kOnes = 12582912.0F;  // 1.5 * 2^23: a sum with it has no room for a fraction
  return (v + kOnes) - kOnes;
}

// The nearest integer in [low, high]; NaN becomes `low`, so that a code is always in range.
inline Lanes nearest(Lanes v, float low, float high) {
  return round(lower_of(higher_of(v, broadcast(low)), broadcast(high)));
}

// 1 / v, and 0 where v is too small to divide by.
inline Lanes inverse_or_zero(Lanes v) {
  constexpr float kSmallest = 0x1p-80F;
  return magnitude(v) > kSmallest ? 1.0F / v : Lanes{};
}

template <int kDistance>
inline Lanes swap_lanes(Lanes v) {
  constexpr int d = kDistance;
  return __builtin_shufflevector(v, v, 0 ^ d, 1 ^ d, 2 ^ d, 3 ^ d, 4 ^ d, 5 ^ d, 6 ^ d, 7 ^ d,
                                 8 ^ d, 9 ^ d, 10 ^ d, 11 ^ d, 12 ^ d, 13 ^ d, 14 ^ d, 15 ^ d);
}

// Sum and maximum over each run of kWidth lanes (8 or 16: the groups of one block), in all of them.
template <size_t kWidth>
inline Lanes sum_within(Lanes v) {
  v = v + swap_lanes<1>(v);
  v = v + swap_lanes<2>(v);
  v = v + swap_lanes<4>(v);
  if constexpr (kWidth == 16) v = v + swap_lanes<8>(v);
  return v;
}
template <size_t kWidth>
inline Lanes highest_within(Lanes v) {
  v = higher_of(v, swap_lanes<1>(v));
  v = higher_of(v, swap_lanes<2>(v));
  v = higher_of(v, swap_lanes<4>(v));
  if constexpr (kWidth == 16) v = higher_of(v, swap_lanes<8>(v));
  return v;
}

// One step of a transposition: rows that are kDistance apart trade the quarters of each square.
template <int kDistance>
inline void trade(Lanes& a, Lanes& b) {
  constexpr auto from_a = [](int lane) {
    return (lane & kDistance) == 0 ? lane : 16 + lane - kDistance;
  };
  constexpr auto from_b = [](int lane) {
    return (lane & kDistance) == 0 ? lane + kDistance : 16 + lane;
  };
  const Lanes low = __builtin_shufflevector(
      a, b, from_a(0), from_a(1), from_a(2), from_a(3), from_a(4), from_a(5), from_a(6), from_a(7),
      from_a(8), from_a(9), from_a(10), from_a(11), from_a(12), from_a(13), from_a(14), from_a(15));
  b = __builtin_shufflevector(a, b, from_b(0), from_b(1), from_b(2), from_b(3), from_b(4),
                              from_b(5), from_b(6), from_b(7), from_b(8), from_b(9), from_b(10),
                              from_b(11), from_b(12), from_b(13), from_b(14), from_b(15));
  a = low;
}

template <int kDistance>
inline void trade_all(Lanes* rows) {
  for (size_t i = 0; i < kLanes; ++i) {
    if ((i & kDistance) == 0) trade<kDistance>(rows[i], rows[i + kDistance]);
  }
}

// rows[i] lane j becomes rows[j] lane i.
inline void transpose(Lanes* rows) {
  trade_all<1>(rows);
  trade_all<2>(rows);
  trade_all<4>(rows);
  trade_all<8>(rows);
}

}  // namespace ingot::quant::INGOT_TARGET

// SPDX-License-Identifier: Apache-2.0
// Scores of many queries: keys are turned so that lanes are positions, and every product is one of
// 16 scores with nothing to sum across lanes. The sums are those of attention_tiles.h to the bit:
// sixteen for the dimensions that are as far apart, added in the order of sum_lanes_512. Turning 16
// keys takes four shuffles a dimension, which few queries would not pay for.
#pragma once

#include "kernels/cpu/attention_tiles.h"
#include "kernels/cpu/avx512/attention_rows.h"

namespace ingot::cpu {
namespace {

inline constexpr int64_t kTurnedQueries = 2;  // that share the loads of two keys
inline constexpr int64_t kLeastTurned = 8;    // queries
inline constexpr int64_t kMostTurnedDim = 256;

// rows[i][lane] and rows[lane][i] change places.
inline void turn_16(__m512 (&rows)[16]) {
  __m512 pairs[16];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    pairs[2 * i] = _mm512_unpacklo_ps(rows[2 * i], rows[2 * i + 1]);
    pairs[2 * i + 1] = _mm512_unpackhi_ps(rows[2 * i], rows[2 * i + 1]);
  }
  __m512 fours[16];  // 4 * i + j: lanes j of every quarter, of rows 4 * i to 4 * i + 3
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512* from = pairs + 4 * i;
    fours[4 * i] = _mm512_shuffle_ps(from[0], from[2], 0x44);
    fours[4 * i + 1] = _mm512_shuffle_ps(from[0], from[2], 0xEE);
    fours[4 * i + 2] = _mm512_shuffle_ps(from[1], from[3], 0x44);
    fours[4 * i + 3] = _mm512_shuffle_ps(from[1], from[3], 0xEE);
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512 low_even = _mm512_shuffle_f32x4(fours[j], fours[4 + j], 0x88);
    const __m512 low_odd = _mm512_shuffle_f32x4(fours[j], fours[4 + j], 0xDD);
    const __m512 high_even = _mm512_shuffle_f32x4(fours[8 + j], fours[12 + j], 0x88);
    const __m512 high_odd = _mm512_shuffle_f32x4(fours[8 + j], fours[12 + j], 0xDD);
    rows[j] = _mm512_shuffle_f32x4(low_even, high_even, 0x88);
    rows[4 + j] = _mm512_shuffle_f32x4(low_odd, high_odd, 0x88);
    rows[8 + j] = _mm512_shuffle_f32x4(low_even, high_even, 0xDD);
    rows[12 + j] = _mm512_shuffle_f32x4(low_odd, high_odd, 0xDD);
  }
}

// Up to 16 keys, zeros for those that are missing, to [dim][16].
inline void turn_keys(const float* keys, int64_t count, int64_t dim, float* to) {
  for (int64_t d = 0; d < dim; d += 16) {
    __m512 rows[16];
#pragma GCC unroll 16
    for (int64_t i = 0; i < 16; ++i)
      rows[i] = i < count ? _mm512_loadu_ps(keys + i * dim + d) : _mm512_setzero_ps();
    turn_16(rows);
#pragma GCC unroll 16
    for (int64_t i = 0; i < 16; ++i)
      _mm512_store_ps(to + (d + i) * 16, rows[i]);
  }
}

// Of some queries by one or two times 16 positions. Dim 0: only `dim` knows.
template <int64_t Queries, int64_t Blocks, int64_t Dim>
struct TurnedScores {
  struct Sums {
    __m512 of[Blocks][Queries];
  };
  const float* q;
  const float* keys;  // [Blocks][dim][16]
  int64_t dim;

  // The sum of every sixteenth dimension from `first` on.
  Sums sixteenth(int64_t first) const {
    Sums sums;
#pragma GCC unroll 2
    for (int64_t b = 0; b < Blocks; ++b)
#pragma GCC unroll 4
      for (int64_t n = 0; n < Queries; ++n)
        sums.of[b][n] = _mm512_setzero_ps();
    const int64_t end = Dim == 0 ? dim : Dim;
#pragma GCC unroll 8
    for (int64_t d = first; d < end; d += 16) {
      __m512 key[Blocks];
#pragma GCC unroll 2
      for (int64_t b = 0; b < Blocks; ++b)
        key[b] = Avx512::keep(_mm512_load_ps(keys + (b * end + d) * 16));
#pragma GCC unroll 4
      for (int64_t n = 0; n < Queries; ++n) {
        const __m512 value = _mm512_set1_ps(q[n * end + d]);
#pragma GCC unroll 2
        for (int64_t b = 0; b < Blocks; ++b)
          sums.of[b][n] = _mm512_fmadd_ps(key[b], value, sums.of[b][n]);
      }
    }
    return sums;
  }
  // Lanes `first`, first + Apart, ... of what sum_lanes_512 sums.
  template <int64_t Apart>
  Sums every(int64_t first) const {
    if constexpr (Apart == 16) {
      return sixteenth(first);
    } else {
      Sums sums = every<2 * Apart>(first);
      const Sums others = every<2 * Apart>(first + Apart);
#pragma GCC unroll 2
      for (int64_t b = 0; b < Blocks; ++b)
#pragma GCC unroll 4
        for (int64_t n = 0; n < Queries; ++n)
          sums.of[b][n] = _mm512_add_ps(sums.of[b][n], others.of[b][n]);
      return sums;
    }
  }
};

template <int64_t Queries, int64_t Blocks, int64_t Dim>
inline void score_turned(const float* q, const float* keys, int64_t dim, int64_t count,
                         float* scores, int64_t stride) {
  const auto sums = TurnedScores<Queries, Blocks, Dim>{q, keys, dim}.template every<1>(0);
  for (int64_t n = 0; n < Queries; ++n)
    for (int64_t b = 0; b < Blocks; ++b)
      store_floats(scores + n * stride + b * 16, count - b * 16, sums.of[b][n]);
}

template <int64_t Blocks, int64_t Dim>
void score_keys(const float* q, int64_t queries, const float* keys, int64_t dim, int64_t count,
                float* scores, int64_t stride) {
  alignas(64) float turned[kMostTurnedDim * 16 * Blocks];
  for (int64_t b = 0; b < Blocks; ++b) {
    const int64_t left = count - b * 16;
    turn_keys(keys + b * 16 * dim, left < 16 ? left : 16, dim, turned + b * 16 * dim);
  }
  int64_t n = 0;
  for (; n + kTurnedQueries <= queries; n += kTurnedQueries)
    score_turned<kTurnedQueries, Blocks, Dim>(q + n * dim, turned, dim, count, scores + n * stride,
                                              stride);
  for (; n < queries; ++n)
    score_turned<1, Blocks, Dim>(q + n * dim, turned, dim, count, scores + n * stride, stride);
}

// Two times 16 positions share the loads of the queries, which one would wait for.
template <int64_t Dim>
void score_all_turned(const float* q, int64_t queries, const PositionBlock& keys, float* scores,
                      int64_t stride) {
  for (int64_t i = 0; i < keys.count; i += 32) {
    const int64_t count = keys.count - i < 32 ? keys.count - i : 32;
    const float* from = keys.data + i * keys.dim;
    if (count > 16)
      score_keys<2, Dim>(q, queries, from, keys.dim, count, scores + i, stride);
    else
      score_keys<1, Dim>(q, queries, from, keys.dim, count, scores + i, stride);
  }
}

// AttentionMath::score.
inline void score_block(const float* q, int64_t queries, const PositionBlock& keys, float* scores,
                        int64_t stride) {
  if (queries < kLeastTurned || keys.dim % 16 != 0 || keys.dim > kMostTurnedDim)
    return score_floats<Avx512, F32Row>(q, queries, keys, scores, stride);
  if (keys.dim == 64) return score_all_turned<64>(q, queries, keys, scores, stride);
  if (keys.dim == 128) return score_all_turned<128>(q, queries, keys, scores, stride);
  score_all_turned<0>(q, queries, keys, scores, stride);
}

}  // namespace
}  // namespace ingot::cpu

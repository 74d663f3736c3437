// SPDX-License-Identifier: Apache-2.0
// Tiles for matrix products: 2 rows by 8 columns a register, so that one instruction adds 8 columns
// of 2 rows for 2 tokens, twice the work of a dot product. Anonymous, as codes.h explains.
#pragma once

#include "kernels/cpu/neon/codes.h"

namespace ingot::cpu {
namespace {

struct MatrixTiles {
  static int8x16_t first_rows(int8x16_t a, int8x16_t b) {
    return vreinterpretq_s8_s32(vzip1q_s32(vreinterpretq_s32_s8(a), vreinterpretq_s32_s8(b)));
  }
  static int8x16_t last_rows(int8x16_t a, int8x16_t b) {
    return vreinterpretq_s8_s32(vzip2q_s32(vreinterpretq_s32_s8(a), vreinterpretq_s32_s8(b)));
  }
  // A quarter of a run into its place among the run's 32 registers: [8 columns][row pair].
  static void put(const int8x16_t (&codes)[8], int64_t quarter, int8x16_t* run) {
    for (int64_t i = 0; i < 4; ++i) {
      run[i * 8 + quarter * 2] = first_rows(codes[2 * i], codes[2 * i + 1]);
      run[i * 8 + quarter * 2 + 1] = last_rows(codes[2 * i], codes[2 * i + 1]);
    }
  }

  // dots[t][q] += rows 4q ... of `Columns` columns times those of token t. Tokens go in pairs; a
  // last one by itself is its own partner.
  template <int64_t Columns, int64_t Tokens>
  static void add(const int8x16_t* codes, const int8_t* const (&in)[Tokens],
                  int32x4_t (&dots)[Tokens][kQuarters]) {
    constexpr int64_t kPairs = (Tokens + 1) / 2;
    int32x4_t sums[kPairs][8];  // token 0 by rows 2i and 2i + 1, then token 1
    for (auto& pair : sums) {
      for (int32x4_t& sum : pair)
        sum = vdupq_n_s32(0);
    }
    for (int64_t col = 0; col < Columns; col += 16, codes += 16) {
      int8x16_t x[kPairs][2];  // 8 columns of both tokens, then the next 8
      for (int64_t p = 0; p < kPairs; ++p) {
        const int64_t partner = 2 * p + 1 < Tokens ? 2 * p + 1 : 2 * p;
        const int64x2_t a = vreinterpretq_s64_s8(vld1q_s8(in[2 * p] + col));
        const int64x2_t b = vreinterpretq_s64_s8(vld1q_s8(in[partner] + col));
        x[p][0] = vreinterpretq_s8_s64(vzip1q_s64(a, b));
        x[p][1] = vreinterpretq_s8_s64(vzip2q_s64(a, b));
      }
#pragma GCC unroll 2
      for (int64_t half = 0; half < 2; ++half) {
#pragma GCC unroll 8
        for (int64_t i = 0; i < 8; ++i) {
          const int8x16_t w = codes[half * 8 + i];
          for (int64_t p = 0; p < kPairs; ++p)
            sums[p][i] = vmmlaq_s32(sums[p][i], x[p][half], w);
        }
      }
    }
    for (int64_t t = 0; t < Tokens; ++t) {
      for (int64_t q = 0; q < kQuarters; ++q) {
        const int64x2_t a = vreinterpretq_s64_s32(sums[t / 2][2 * q]);
        const int64x2_t b = vreinterpretq_s64_s32(sums[t / 2][2 * q + 1]);
        const int64x2_t both = t % 2 == 0 ? vzip1q_s64(a, b) : vzip2q_s64(a, b);
        dots[t][q] = vaddq_s32(dots[t][q], vreinterpretq_s32_s64(both));
      }
    }
  }
};

}  // namespace
}  // namespace ingot::cpu

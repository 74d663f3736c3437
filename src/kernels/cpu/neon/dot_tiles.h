// SPDX-License-Identifier: Apache-2.0
// Tiles for dot products: codes as a panel's lines have them, 4 rows by 4 columns a register, so
// that one instruction adds 4 columns of 4 rows for one token. Anonymous, as codes.h explains.
#pragma once

#include "kernels/cpu/neon/codes.h"

namespace ingot::cpu {
namespace {

struct DotTiles {
  // A quarter of a run into its place among the run's 32 registers.
  static void put(const int8x16_t (&codes)[8], int64_t quarter, int8x16_t* run) {
    for (int64_t i = 0; i < 8; ++i)
      run[i * kQuarters + quarter] = codes[i];
  }

  // dots[t][q] += rows 4q ... of `Columns` columns times those of token t.
  template <int64_t Columns, int64_t Tokens>
  static void add(const int8x16_t* codes, const int8_t* const (&in)[Tokens],
                  int32x4_t (&dots)[Tokens][kQuarters]) {
    for (int64_t col = 0; col < Columns; col += 16, codes += 16) {
      int8x16_t x[Tokens];
      for (int64_t t = 0; t < Tokens; ++t)
        x[t] = vld1q_s8(in[t] + col);
      const auto add_line = [&]<int Line>() {
        for (int64_t q = 0; q < kQuarters; ++q) {
          const int8x16_t w = codes[Line * kQuarters + q];
          for (int64_t t = 0; t < Tokens; ++t)
            dots[t][q] = vdotq_laneq_s32(dots[t][q], w, x[t], Line);
        }
      };
      add_line.template operator()<0>();
      add_line.template operator()<1>();
      add_line.template operator()<2>();
      add_line.template operator()<3>();
    }
  }
};

}  // namespace
}  // namespace ingot::cpu

// SPDX-License-Identifier: Apache-2.0
// Products of bytes on tensor cores, 16 weight rows by 8 tokens. Lane (g, t) = (lane / 4, lane % 4)
// holds weights of rows g and g + 8, inputs of token g, and sums of rows g and g + 8 for tokens
// 2t and 2t + 1. Which columns a lane's bytes are of is free, as long as weights and inputs agree.
#pragma once

#include <cstdint>

namespace ingot::cuda {

// 32 columns: eight bytes a lane and row.
template <bool kIsSigned>
__device__ inline void multiply_32(int (&sum)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                                   uint32_t a3, uint32_t b0, uint32_t b1) {
  if constexpr (kIsSigned) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},"
        "{%0,%1,%2,%3};"
        : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},"
        "{%0,%1,%2,%3};"
        : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
}

}  // namespace ingot::cuda

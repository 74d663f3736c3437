// SPDX-License-Identifier: Apache-2.0
// Blocks of one and two bits a weight with a single scale: the ternary TQ1_0 and TQ2_0, the binary
// Q1_0, and Q2_0. The scalar truth for their kernels.
#include "blocks/q1_0.h"
#include "blocks/q2_0.h"
#include "blocks/spread_bits.h"
#include "blocks/tq1_0.h"
#include "blocks/tq2_0.h"

namespace ingot {
namespace {

// Digit n of N packed base-3 bytes. A byte is a fraction of 256 in base 3: multiplying by 3^n drops
// the digits before n (mod 256), and the carry of one more factor 3 is the digit.
template <size_t N>
void write_ternary_digit(const uint8_t* __restrict bytes, size_t n, float scale,
                         float* __restrict out) {
  constexpr uint8_t kPowersOf3[5] = {1, 3, 9, 27, 81};
  for (size_t i = 0; i < N; ++i) {
    const auto rest = static_cast<uint8_t>(bytes[i] * kPowersOf3[n]);
    const int digit = (rest * 3) >> 8;
    out[i] = static_cast<float>(digit - 1) * scale;
  }
}

}  // namespace

void dequantize(const TQ1_0& block, std::span<float, TQ1_0::kGroup> out) {
  const float scale = to_float(block.scale);
  float* to = out.data();
  for (size_t n = 0; n < 5; ++n, to += 32)
    write_ternary_digit<32>(block.fives, n, scale, to);
  for (size_t n = 0; n < 5; ++n, to += 16)
    write_ternary_digit<16>(block.fives + 32, n, scale, to);
  for (size_t n = 0; n < 4; ++n, to += 4)
    write_ternary_digit<4>(block.fours, n, scale, to);
}

void dequantize(const TQ2_0& block, std::span<float, TQ2_0::kGroup> out) {
  const float scale = to_float(block.scale);
  for (size_t plane = 0; plane < TQ2_0::kGroup / 32; ++plane) {
    const uint8_t* packed = block.codes + 32 * (plane / 4);
    float* __restrict to = out.data() + 32 * plane;
    for (size_t i = 0; i < 32; ++i) {
      const int code = (packed[i] >> (2 * (plane % 4))) & 3;
      to[i] = static_cast<float>(code - 1) * scale;
    }
  }
}

void dequantize(const Q1_0& block, std::span<float, Q1_0::kGroup> out) {
  const float scale = to_float(block.scale);
  uint8_t codes[Q1_0::kGroup];
  for (size_t i = 0; i < sizeof(block.codes); ++i)
    spread_bits(block.codes[i], codes + 8 * i);
  float* __restrict to = out.data();
  for (size_t i = 0; i < Q1_0::kGroup; ++i)
    to[i] = static_cast<float>(2 * codes[i] - 1) * scale;
}

void dequantize(const Q2_0& block, std::span<float, Q2_0::kGroup> out) {
  const float scale = to_float(block.scale);
  float* __restrict to = out.data();
  for (size_t i = 0; i < Q2_0::kGroup; ++i) {
    const int code = (block.codes[i / 4] >> (2 * (i % 4))) & 3;
    to[i] = static_cast<float>(code - 1) * scale;
  }
}

}  // namespace ingot

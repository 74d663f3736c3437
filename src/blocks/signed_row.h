// SPDX-License-Identifier: Apache-2.0
// What IQ2 and IQ3 decoding share, for this folder only: eight grid values times a scale, with
// signs from one byte.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "blocks/spread_bits.h"

namespace ingot {

// Seven stored signs to eight: the number of negative elements in a row is always even.
inline uint8_t complete_signs(uint32_t seven) {
  uint32_t parity = seven ^ (seven >> 4);
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return static_cast<uint8_t>(seven | ((parity & 1) << 7));
}

// out[i] = scale * values[i], negated where bit i of `signs` is set.
inline void write_signed_row(const uint8_t (&values)[8], uint8_t signs, float scale,
                             float* __restrict out) {
  uint8_t is_negative[8];
  spread_bits(signs, is_negative);
  for (size_t i = 0; i < 8; ++i) {
    const auto bits = std::bit_cast<uint32_t>(scale * static_cast<float>(values[i]));
    out[i] = std::bit_cast<float>(bits ^ (static_cast<uint32_t>(is_negative[i]) << 31));
  }
}

}  // namespace ingot

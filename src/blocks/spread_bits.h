// SPDX-License-Identifier: Apache-2.0
// Bits to bytes, for the scalar codecs of this folder only: planes of single bits (high bits,
// signs) become arrays that a loop over elements can be vectorised with.
#pragma once

#include <cstdint>
#include <cstring>

namespace ingot {

// Writes bit i of `bits` (0 or 1) to out[i], for i in [0, 8).
inline void spread_bits(uint8_t bits, uint8_t* out) {
  // Byte i keeps only bit i; adding 0x7F then carries into its top bit unless it is zero.
  const uint64_t kept = (bits * 0x0101010101010101u) & 0x8040201008040201u;
  const uint64_t ones = ((kept + 0x7F7F7F7F7F7F7F7Fu) >> 7) & 0x0101010101010101u;
  std::memcpy(out, &ones, sizeof(ones));
}

}  // namespace ingot

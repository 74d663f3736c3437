// SPDX-License-Identifier: Apache-2.0
// Codes of 32 elements into the nibbles and the word of fifth bits that the oldest blocks share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ingot::quant::INGOT_TARGET {

inline void pack_nibbles(const uint8_t* codes, uint8_t* to) {
  for (size_t i = 0; i < 16; ++i)
    to[i] = static_cast<uint8_t>((codes[i] & 0xF) | (codes[i + 16] << 4));
}

inline void pack_fifth_bits(const uint8_t* codes, uint8_t* to) {
  uint32_t word = 0;
  for (size_t i = 0; i < 32; ++i)
    word |= static_cast<uint32_t>((codes[i] >> 4) & 1) << i;
  std::memcpy(to, &word, sizeof(word));
}

}  // namespace ingot::quant::INGOT_TARGET

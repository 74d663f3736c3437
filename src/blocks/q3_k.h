// SPDX-License-Identifier: Apache-2.0
// Q3_K: 256 weights in 16 groups of 16. 110 bytes, 3.4375 bits a weight.
// weight = (scale * (group_scale - 32)) * code, code in [-4, 3]
//   0           32      96             108     110
//   | high_bits | codes | group_scales | scale |
// Low two bits of the code as in Q2_K; bit 4h + p of high_bits[i] set means "add nothing", clear
// means "subtract 4". Group scales are 6 bits: the low nibbles of bytes 0-7 are groups 0-7, their
// high nibbles groups 8-15; the two top bits of group g are bits 2(g / 4).. of byte 8 + g % 4.
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct Q3_K {
  static constexpr Layout kLayout = Layout::kQ3_K;
  static constexpr size_t kGroup = 256;
  uint8_t high_bits[kGroup / 8];
  uint8_t codes[kGroup / 4];
  uint8_t group_scales[12];
  Half scale;
};
static_assert(sizeof(Q3_K) == 110 && std::is_trivially_copyable_v<Q3_K>);

void dequantize(const Q3_K& block, std::span<float, Q3_K::kGroup> out);

}  // namespace ingot

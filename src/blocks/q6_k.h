// SPDX-License-Identifier: Apache-2.0
// Q6_K: 256 weights in 16 groups of 16. 210 bytes, 6.5625 bits a weight.
// weight = (scale * group_scale) * (code - 32), code in [0, 63]
//   0          128         192            208     210
//   | low_bits | high_bits | group_scales | scale |
// For element 128h + 32p + i (h, p, i as in Q2_K): the low nibble is in low_bits[64h + 32(p % 2) +
// i], low half for p < 2 and high half above; the two top bits are bits 2p.. of high_bits[32h + i].
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct Q6_K {
  static constexpr Layout kLayout = Layout::kQ6_K;
  static constexpr size_t kGroup = 256;
  uint8_t low_bits[kGroup / 2];
  uint8_t high_bits[kGroup / 4];
  int8_t group_scales[kGroup / 16];
  Half scale;
};
static_assert(sizeof(Q6_K) == 210 && std::is_trivially_copyable_v<Q6_K>);

void dequantize(const Q6_K& block, std::span<float, Q6_K::kGroup> out);

}  // namespace ingot

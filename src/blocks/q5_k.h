// SPDX-License-Identifier: Apache-2.0
// Q5_K: 256 weights in 8 groups of 32. 176 bytes, 5.5 bits a weight.
// weight = (scale * group_scale) * code - (min_scale * group_min), code in [0, 31]
//   0       2           4              16          48                     176
//   | scale | min_scale | group_scales | high_bits | codes                |
// Nibbles and group_scales as in Q4_K; bit g of high_bits[i] is bit 4 of element 32g + i.
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct Q5_K {
  static constexpr Layout kLayout = Layout::kQ5_K;
  static constexpr size_t kGroup = 256;
  Half scale;
  Half min_scale;
  uint8_t group_scales[12];
  uint8_t high_bits[kGroup / 8];
  uint8_t codes[kGroup / 2];
};
static_assert(sizeof(Q5_K) == 176 && std::is_trivially_copyable_v<Q5_K>);

void dequantize(const Q5_K& block, std::span<float, Q5_K::kGroup> out);

}  // namespace ingot

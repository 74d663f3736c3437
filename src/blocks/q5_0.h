// SPDX-License-Identifier: Apache-2.0
// Q5_0: 32 weights, weight = scale * (code - 16). 22 bytes, 5.5 bits a weight.
//   0      2           6                   22
//   | scale | high_bits | codes: the nibbles, placed as in Q4_0 |
// high_bits is a little-endian word; its bit i is bit 4 of element i's code.
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct Q5_0 {
  static constexpr Layout kLayout = Layout::kQ5_0;
  static constexpr size_t kGroup = 32;
  Half scale;
  uint8_t high_bits[4];
  uint8_t codes[kGroup / 2];
};
static_assert(sizeof(Q5_0) == 22 && std::is_trivially_copyable_v<Q5_0>);

void dequantize(const Q5_0& block, std::span<float, Q5_0::kGroup> out);

}  // namespace ingot

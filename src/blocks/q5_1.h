// SPDX-License-Identifier: Apache-2.0
// Q5_1: 32 weights, weight = scale * code + min. 24 bytes, 6 bits a weight.
//   0      2     4           8                   24
//   | scale | min | high_bits | codes: the nibbles, placed as in Q4_0 |
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

struct Q5_1 {
  static constexpr Layout kLayout = Layout::kQ5_1;
  static constexpr size_t kGroup = 32;
  Half scale;
  Half min;
  uint8_t high_bits[4];
  uint8_t codes[kGroup / 2];
};
static_assert(sizeof(Q5_1) == 24 && std::is_trivially_copyable_v<Q5_1>);

void dequantize(const Q5_1& block, std::span<float, Q5_1::kGroup> out);

}  // namespace ingot

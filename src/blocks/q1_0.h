// SPDX-License-Identifier: Apache-2.0
// Q1_0: 128 weights, weight = scale where the bit is set, -scale where it is clear. 18 bytes, 1.125
// bits a weight.
//   0      2                          18
//   | scale | codes: bit i of byte b = element 8b + i |
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct Q1_0 {
  static constexpr Layout kLayout = Layout::kQ1_0;
  static constexpr size_t kGroup = 128;
  Half scale;
  uint8_t codes[kGroup / 8];
};
static_assert(sizeof(Q1_0) == 18 && std::is_trivially_copyable_v<Q1_0>);

void dequantize(const Q1_0& block, std::span<float, Q1_0::kGroup> out);

}  // namespace ingot

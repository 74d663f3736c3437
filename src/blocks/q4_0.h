// SPDX-License-Identifier: Apache-2.0
// Q4_0: 32 weights, weight = scale * (code - 8). 18 bytes, 4.5 bits a weight.
//   0      2                          18
//   | scale | codes: byte i = element i (low nibble), element i + 16 (high nibble) |
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct Q4_0 {
  static constexpr Layout kLayout = Layout::kQ4_0;
  static constexpr size_t kGroup = 32;
  Half scale;
  uint8_t codes[kGroup / 2];
};
static_assert(sizeof(Q4_0) == 18 && std::is_trivially_copyable_v<Q4_0>);

void dequantize(const Q4_0& block, std::span<float, Q4_0::kGroup> out);

}  // namespace ingot

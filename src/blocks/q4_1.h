// SPDX-License-Identifier: Apache-2.0
// Q4_1: 32 weights, weight = scale * code + min. 20 bytes, 5 bits a weight.
//   0      2     4                          20
//   | scale | min | codes: byte i = element i (low nibble), element i + 16 (high nibble) |
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct Q4_1 {
  static constexpr Layout kLayout = Layout::kQ4_1;
  static constexpr size_t kGroup = 32;
  Half scale;
  Half min;
  uint8_t codes[kGroup / 2];
};
static_assert(sizeof(Q4_1) == 20 && std::is_trivially_copyable_v<Q4_1>);

void dequantize(const Q4_1& block, std::span<float, Q4_1::kGroup> out);

}  // namespace ingot

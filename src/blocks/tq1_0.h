// SPDX-License-Identifier: Apache-2.0
// TQ1_0: 256 ternary weights, weight = scale * {-1, 0, 1}. 54 bytes, 1.6875 bits a weight.
//   0       48     52      54
//   | fives | fours | scale |
// A byte holds base-3 digits as a fraction of 256: digit n of byte b is (3 * (b * 3^n mod 256)) /
// 256. fives[0..31], digits 0-4: elements 32n + i. fives[32..47]: elements 160 + 16n + i.
// fours[0..3], digits 0-3: elements 240 + 4n + i.
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct TQ1_0 {
  static constexpr Layout kLayout = Layout::kTQ1_0;
  static constexpr size_t kGroup = 256;
  uint8_t fives[48];
  uint8_t fours[4];
  Half scale;
};
static_assert(sizeof(TQ1_0) == 54 && std::is_trivially_copyable_v<TQ1_0>);

void dequantize(const TQ1_0& block, std::span<float, TQ1_0::kGroup> out);

}  // namespace ingot

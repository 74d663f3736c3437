// SPDX-License-Identifier: Apache-2.0
// IQ1_S: 256 weights in 8 groups of 32, each four grid rows of 8. 50 bytes, 1.5625 bits a weight.
// weight = (scale * (2 * group_scale + 1)) * (grid value + delta), grid in {-1, 0, 1}, delta =
// +-1/8
//   0       2        34               50
//   | scale | codes  | groups: uint16 |
// Row r of group g: index = codes[4g + r] | (bits 3r..3r+2 of groups[g]) << 8, into kIq1Grid.
// groups[g]: bits 12-14 group_scale, bit 15 set means delta is negative.
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct IQ1_S {
  static constexpr Layout kLayout = Layout::kIQ1_S;
  static constexpr size_t kGroup = 256;
  Half scale;
  uint8_t codes[kGroup / 8];
  uint16_t groups[kGroup / 32];
};
static_assert(sizeof(IQ1_S) == 50 && std::is_trivially_copyable_v<IQ1_S>);

void dequantize(const IQ1_S& block, std::span<float, IQ1_S::kGroup> out);

}  // namespace ingot

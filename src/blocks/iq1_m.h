// SPDX-License-Identifier: Apache-2.0
// IQ1_M: 256 weights in 16 groups of 16, each two grid rows of 8. 56 bytes, 1.75 bits a weight.
// weight = (scale * (2 * group_scale + 1)) * (grid value + delta), grid in {-1, 0, 1}, delta =
// +-1/8
//   0       32          48                      56
//   | codes | high_bits | group_scales: uint16  |
// Row r: nibble n = half r % 2 of high_bits[r / 2]; index = codes[r] | (n & 7) << 8 into kIq1Grid;
// n & 8 means delta is negative. group_scales[k]: 3 bits for each of groups 4k..4k+3 from bit 0 up;
// its top four bits are bits 4k..4k+3 of the fp16 scale, which has no field of its own.
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "blocks/layout_id.h"

namespace ingot {

struct IQ1_M {
  static constexpr Layout kLayout = Layout::kIQ1_M;
  static constexpr size_t kGroup = 256;
  uint8_t codes[kGroup / 8];
  uint8_t high_bits[kGroup / 16];
  uint16_t group_scales[kGroup / 64];
};
static_assert(sizeof(IQ1_M) == 56 && std::is_trivially_copyable_v<IQ1_M>);

void dequantize(const IQ1_M& block, std::span<float, IQ1_M::kGroup> out);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// IQ4_XS: 256 weights in 8 groups of 32. 136 bytes, 4.25 bits a weight.
// weight = (scale * (group_scale - 32)) * kIq4Levels[code], group_scale of 6 bits
//   0       2            4            8       136
//   | scale | scales_high | scales_low | codes |
// group_scale of g: low four bits a nibble of scales_low[g / 2] (low nibble for even g), top two
// bits 2g.. of scales_high. codes[16g + i]: element 32g + i in the low nibble, 32g + 16 + i in the
// high. Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct IQ4_XS {
  static constexpr Layout kLayout = Layout::kIQ4_XS;
  static constexpr size_t kGroup = 256;
  Half scale;
  uint16_t scales_high;
  uint8_t scales_low[kGroup / 64];
  uint8_t codes[kGroup / 2];
};
static_assert(sizeof(IQ4_XS) == 136 && std::is_trivially_copyable_v<IQ4_XS>);

void dequantize(const IQ4_XS& block, std::span<float, IQ4_XS::kGroup> out);

}  // namespace ingot

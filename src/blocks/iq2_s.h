// SPDX-License-Identifier: Apache-2.0
// IQ2_S: 256 weights in 16 groups of 16, each two grid rows of 8. 82 bytes, 2.5625 bits a weight.
// weight = +-(scale * (group_scale + 0.5) * 0.25) * grid value, grid in {8, 25, 43}
//   0       2       34      66          74             82
//   | scale | codes | signs | high_bits | group_scales |
// Row r: index = codes[r] | (bits 2(r % 4).. of high_bits[r / 4], two) << 8 into kIq2SGrid; bit i
// of signs[r] set negates element i. group_scales: a nibble per group, low first. Layout only, no
// inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct IQ2_S {
  static constexpr Layout kLayout = Layout::kIQ2_S;
  static constexpr size_t kGroup = 256;
  Half scale;
  uint8_t codes[kGroup / 8];
  uint8_t signs[kGroup / 8];
  uint8_t high_bits[kGroup / 32];
  uint8_t group_scales[kGroup / 32];
};
static_assert(sizeof(IQ2_S) == 82 && std::is_trivially_copyable_v<IQ2_S>);

void dequantize(const IQ2_S& block, std::span<float, IQ2_S::kGroup> out);

}  // namespace ingot

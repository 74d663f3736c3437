// SPDX-License-Identifier: Apache-2.0
// IQ2_XS: 256 weights in 16 groups of 16, each two grid rows of 8. 74 bytes, 2.3125 bits a weight.
// weight = +-(scale * (group_scale + 0.5) * 0.25) * grid value, grid in {8, 25, 43}
//   0       2              66             74
//   | scale | rows: uint16 | group_scales |
// rows[r]: bits 0-8 index into kIq2XsGrid, bits 9-15 seven signs (the eighth makes their number
// even). group_scales: a nibble per group, low first. Layout only, no inline bodies: every target
// and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct IQ2_XS {
  static constexpr Layout kLayout = Layout::kIQ2_XS;
  static constexpr size_t kGroup = 256;
  Half scale;
  uint16_t rows[kGroup / 8];
  uint8_t group_scales[kGroup / 32];
};
static_assert(sizeof(IQ2_XS) == 74 && std::is_trivially_copyable_v<IQ2_XS>);

void dequantize(const IQ2_XS& block, std::span<float, IQ2_XS::kGroup> out);

}  // namespace ingot

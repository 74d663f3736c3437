// SPDX-License-Identifier: Apache-2.0
// IQ3_XXS: 256 weights in 8 groups of 32, each eight grid rows of 4. 98 bytes, 3.0625 bits a
// weight. weight = +-(scale * (group_scale + 0.5) * 0.5) * grid value, grid in {4, 12, 20, .. 52,
// 62}
//   0       2       66                        98
//   | scale | codes | groups: 4 bytes a group |
// codes[q] is the index of row q into kIq3XxsGrid. A group is a little-endian word as in IQ2_XXS:
// 7 sign bits per 8 elements from bit 0 up, group_scale in bits 28-31.
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct IQ3_XXS {
  static constexpr Layout kLayout = Layout::kIQ3_XXS;
  static constexpr size_t kGroup = 256;
  Half scale;
  uint8_t codes[kGroup / 4];
  uint8_t groups[kGroup / 32][4];
};
static_assert(sizeof(IQ3_XXS) == 98 && std::is_trivially_copyable_v<IQ3_XXS>);

void dequantize(const IQ3_XXS& block, std::span<float, IQ3_XXS::kGroup> out);

}  // namespace ingot

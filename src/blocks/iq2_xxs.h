// SPDX-License-Identifier: Apache-2.0
// IQ2_XXS: 256 weights in 8 groups of 32, each four grid rows of 8. 66 bytes, 2.0625 bits a weight.
// weight = +-(scale * (group_scale + 0.5) * 0.25) * grid value, grid in {8, 25, 43}
//   0       2                                66
//   | scale | groups: 8 bytes per group of 32 |
// A group: 4 bytes, one index into kIq2XxsGrid per row; then a little-endian word: 7 sign bits per
// row from bit 0 up (the eighth sign makes their number even), group_scale in bits 28-31. Layout
// only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct IQ2_XXS {
  static constexpr Layout kLayout = Layout::kIQ2_XXS;
  static constexpr size_t kGroup = 256;
  Half scale;
  uint8_t groups[kGroup / 32][8];
};
static_assert(sizeof(IQ2_XXS) == 66 && std::is_trivially_copyable_v<IQ2_XXS>);

void dequantize(const IQ2_XXS& block, std::span<float, IQ2_XXS::kGroup> out);

}  // namespace ingot

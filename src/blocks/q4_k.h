// SPDX-License-Identifier: Apache-2.0
// Q4_K: 256 weights in 8 groups of 32. 144 bytes, 4.5 bits a weight.
// weight = (scale * group_scale) * code - (min_scale * group_min), code in [0, 15]
//   0       2           4              16                     144
//   | scale | min_scale | group_scales | codes                |
// codes[32k + i]: element 64k + i in the low nibble (group 2k), 64k + 32 + i in the high (group 2k
// + 1). group_scales packs 8 scales and 8 mins of 6 bits: docs/formats/blocks.md draws it. Layout
// only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct Q4_K {
  static constexpr Layout kLayout = Layout::kQ4_K;
  static constexpr size_t kGroup = 256;
  Half scale;
  Half min_scale;
  uint8_t group_scales[12];
  uint8_t codes[kGroup / 2];
};
static_assert(sizeof(Q4_K) == 144 && std::is_trivially_copyable_v<Q4_K>);

void dequantize(const Q4_K& block, std::span<float, Q4_K::kGroup> out);

}  // namespace ingot

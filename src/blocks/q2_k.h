// SPDX-License-Identifier: Apache-2.0
// Q2_K: 256 weights in 16 groups of 16. 84 bytes, 2.625 bits a weight.
// weight = (scale * group_scale) * code - (min_scale * group_min), code in [0, 3]
//   0              16             80      82          84
//   | group_scales | codes        | scale | min_scale |
// group_scales[g]: scale in the low nibble, min in the high. The codes of elements 128h + 32p + i
// (h < 2, p < 4, i < 32) are bits 2p and 2p + 1 of codes[32h + i].
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct Q2_K {
  static constexpr Layout kLayout = Layout::kQ2_K;
  static constexpr size_t kGroup = 256;
  uint8_t group_scales[kGroup / 16];
  uint8_t codes[kGroup / 4];
  Half scale;
  Half min_scale;
};
static_assert(sizeof(Q2_K) == 84 && std::is_trivially_copyable_v<Q2_K>);

void dequantize(const Q2_K& block, std::span<float, Q2_K::kGroup> out);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// IQ3_S: 256 weights in 8 groups of 32, each eight grid rows of 4. 110 bytes, 3.4375 bits a weight.
// weight = +-(scale * (2 * group_scale + 1)) * grid value, grid in {1, 3, .. 15}
//   0       2       66          74      106            110
//   | scale | codes | high_bits | signs | group_scales |
// Row q: index = codes[q] | (bit q % 8 of high_bits[q / 8]) << 8 into kIq3SGrid; bit i of signs[b]
// set negates element 8b + i. group_scales: a nibble per group, low first.
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct IQ3_S {
  static constexpr Layout kLayout = Layout::kIQ3_S;
  static constexpr size_t kGroup = 256;
  Half scale;
  uint8_t codes[kGroup / 4];
  uint8_t high_bits[kGroup / 32];
  uint8_t signs[kGroup / 8];
  uint8_t group_scales[kGroup / 64];
};
static_assert(sizeof(IQ3_S) == 110 && std::is_trivially_copyable_v<IQ3_S>);

void dequantize(const IQ3_S& block, std::span<float, IQ3_S::kGroup> out);

}  // namespace ingot

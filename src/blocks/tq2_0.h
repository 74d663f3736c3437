// SPDX-License-Identifier: Apache-2.0
// TQ2_0: 256 ternary weights, weight = scale * (code - 1). 66 bytes, 2.0625 bits a weight.
//   0       64      66
//   | codes | scale |
// Codes of two bits, placed as in Q2_K: element 128h + 32p + i in bits 2p.. of codes[32h + i].
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct TQ2_0 {
  static constexpr Layout kLayout = Layout::kTQ2_0;
  static constexpr size_t kGroup = 256;
  uint8_t codes[kGroup / 4];
  Half scale;
};
static_assert(sizeof(TQ2_0) == 66 && std::is_trivially_copyable_v<TQ2_0>);

void dequantize(const TQ2_0& block, std::span<float, TQ2_0::kGroup> out);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// Q2_0: 64 weights, weight = scale * (code - 1), code in [0, 3]. 18 bytes, 2.25 bits a weight.
//   0      2                          18
//   | scale | codes: bits 2i.. of byte b = element 4b + i |
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct Q2_0 {
  static constexpr Layout kLayout = Layout::kQ2_0;
  static constexpr size_t kGroup = 64;
  Half scale;
  uint8_t codes[kGroup / 4];
};
static_assert(sizeof(Q2_0) == 18 && std::is_trivially_copyable_v<Q2_0>);

void dequantize(const Q2_0& block, std::span<float, Q2_0::kGroup> out);

}  // namespace ingot

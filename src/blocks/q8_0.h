// SPDX-License-Identifier: Apache-2.0
// Q8_0: 32 weights, weight = scale * code. 34 bytes, 8.5 bits a weight.
//   0      2                       34
//   | scale | codes: one int8 each |
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct Q8_0 {
  static constexpr Layout kLayout = Layout::kQ8_0;
  static constexpr size_t kGroup = 32;
  Half scale;
  int8_t codes[kGroup];
};
static_assert(sizeof(Q8_0) == 34 && std::is_trivially_copyable_v<Q8_0>);

void dequantize(const Q8_0& block, std::span<float, Q8_0::kGroup> out);

}  // namespace ingot

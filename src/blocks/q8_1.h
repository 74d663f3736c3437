// SPDX-License-Identifier: Apache-2.0
// Q8_1: 32 activations, value = scale * code. 36 bytes. Not a weight layout: it is what Q4_1 and
// Q5_1 are multiplied with, hence the ready sum.
//   0      2     4                       36
//   | scale | sum | codes: one int8 each |       sum = scale * (sum of the codes), unused by decode
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct Q8_1 {
  static constexpr Layout kLayout = Layout::kQ8_1;
  static constexpr size_t kGroup = 32;
  Half scale;
  Half sum;
  int8_t codes[kGroup];
};
static_assert(sizeof(Q8_1) == 36 && std::is_trivially_copyable_v<Q8_1>);

void dequantize(const Q8_1& block, std::span<float, Q8_1::kGroup> out);

}  // namespace ingot

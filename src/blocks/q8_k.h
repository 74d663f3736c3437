// SPDX-License-Identifier: Apache-2.0
// Q8_K: 256 activations, value = scale * code. 292 bytes. Not a weight layout: it is what the K
// blocks are multiplied with, hence the ready sums and the float scale.
//   0       4                 260                               292
//   | scale | codes: int8     | sums: int16, one per 16 codes   |      sums are unused by decode
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "blocks/layout_id.h"

namespace ingot {

struct Q8_K {
  static constexpr Layout kLayout = Layout::kQ8_K;
  static constexpr size_t kGroup = 256;
  float scale;
  int8_t codes[kGroup];
  int16_t sums[kGroup / 16];
};
static_assert(sizeof(Q8_K) == 292 && std::is_trivially_copyable_v<Q8_K>);

void dequantize(const Q8_K& block, std::span<float, Q8_K::kGroup> out);

}  // namespace ingot

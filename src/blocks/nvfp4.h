// SPDX-License-Identifier: Apache-2.0
// NVFP4: 64 weights in 4 groups of 16, weight = E4M3 group scale * E2M1 code. 36 bytes, 4.5 bits a
// weight. The factor of the whole tensor, where there is one, is a tensor of its own.
//   0              4                                                        36
//   | group_scales | codes: byte 8g + i = element 16g + i (low), 16g + 8 + i (high) |
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct NVFP4 {
  static constexpr Layout kLayout = Layout::kNVFP4;
  static constexpr size_t kGroup = 64;
  Float8E4M3 group_scales[kGroup / 16];
  uint8_t codes[kGroup / 2];
};
static_assert(sizeof(NVFP4) == 36 && std::is_trivially_copyable_v<NVFP4>);

void dequantize(const NVFP4& block, std::span<float, NVFP4::kGroup> out);

}  // namespace ingot

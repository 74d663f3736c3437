// SPDX-License-Identifier: Apache-2.0
// IQ4_NL: 32 weights, weight = scale * kIq4Levels[code]. 18 bytes, 4.5 bits a weight.
//   0      2                          18
//   | scale | codes: byte i = element i (low nibble), element i + 16 (high nibble) |
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct IQ4_NL {
  static constexpr Layout kLayout = Layout::kIQ4_NL;
  static constexpr size_t kGroup = 32;
  Half scale;
  uint8_t codes[kGroup / 2];
};
static_assert(sizeof(IQ4_NL) == 18 && std::is_trivially_copyable_v<IQ4_NL>);

void dequantize(const IQ4_NL& block, std::span<float, IQ4_NL::kGroup> out);

}  // namespace ingot

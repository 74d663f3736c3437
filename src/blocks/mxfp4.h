// SPDX-License-Identifier: Apache-2.0
// MXFP4: 32 weights, weight = 2^(scale - 127) * E2M1 code. 17 bytes, 4.25 bits a weight.
//   0       1                          17
//   | scale | codes: byte i = element i (low nibble), element i + 16 (high nibble) |
// A code is sign, two exponent bits, one mantissa bit: 0 0.5 1 1.5 2 3 4 6 and their negatives. The
// order of the nibbles is the GGUF one; safetensors checkpoints interleave (2i, 2i + 1).
// Layout only, no inline bodies: every target and CUDA read this same header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

struct MXFP4 {
  static constexpr Layout kLayout = Layout::kMXFP4;
  static constexpr size_t kGroup = 32;
  Float8E8M0 scale;
  uint8_t codes[kGroup / 2];
};
static_assert(sizeof(MXFP4) == 17 && std::is_trivially_copyable_v<MXFP4>);

void dequantize(const MXFP4& block, std::span<float, MXFP4::kGroup> out);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// IQ1_S and IQ1_M: rows of eight ternary values from one table of 2048, all moved up or down by an
// eighth. The scalar truth for their kernels.
#include <cstring>

#include "blocks/iq1_m.h"
#include "blocks/iq1_s.h"
#include "blocks/iq_grids.h"

namespace ingot {
namespace {

constexpr float kDelta = 0.125F;

float signed_delta(bool is_negative) {
  return is_negative ? -kDelta : kDelta;
}

void write_shifted_row(size_t index, float scale, float delta, float* __restrict out) {
  int8_t row[8];
  std::memcpy(row, &kIq1Grid.rows[index], sizeof(row));
  for (size_t i = 0; i < 8; ++i)
    out[i] = scale * (static_cast<float>(row[i]) + delta);
}

}  // namespace

void dequantize(const IQ1_S& block, std::span<float, IQ1_S::kGroup> out) {
  const float scale = to_float(block.scale);
  for (size_t g = 0; g < IQ1_S::kGroup / 32; ++g) {
    const unsigned group = block.groups[g];
    const float group_scale =
        scale * static_cast<float>(2 * static_cast<int>((group >> 12) & 7) + 1);
    const float delta = signed_delta((group & 0x8000u) != 0);
    for (size_t r = 0; r < 4; ++r) {
      const size_t index = block.codes[4 * g + r] | (((group >> (3 * r)) & 7) << 8);
      write_shifted_row(index, group_scale, delta, out.data() + 32 * g + 8 * r);
    }
  }
}

void dequantize(const IQ1_M& block, std::span<float, IQ1_M::kGroup> out) {
  unsigned scale_bits = 0;
  for (size_t k = 0; k < 4; ++k) {
    scale_bits |= static_cast<unsigned>(block.group_scales[k] >> 12) << (4 * k);
  }
  const float scale = to_float(Half{static_cast<uint16_t>(scale_bits)});
  for (size_t r = 0; r < IQ1_M::kGroup / 8; ++r) {
    const size_t g = r / 2;
    const int group_scale = (block.group_scales[g / 4] >> (3 * (g % 4))) & 7;
    const unsigned nibble = (block.high_bits[r / 2] >> (4 * (r % 2))) & 0xFu;
    write_shifted_row(block.codes[r] | ((nibble & 7) << 8),
                      scale * static_cast<float>(2 * group_scale + 1),
                      signed_delta((nibble & 8) != 0), out.data() + 8 * r);
  }
}

}  // namespace ingot

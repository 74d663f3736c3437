// SPDX-License-Identifier: Apache-2.0
// IQ2_XXS, IQ2_XS, IQ2_S: rows of eight magnitudes from a table, signs beside. The scalar truth for
// their kernels.
#include <cstring>

#include "blocks/iq2_s.h"
#include "blocks/iq2_xs.h"
#include "blocks/iq2_xxs.h"
#include "blocks/iq_grids.h"
#include "blocks/signed_row.h"

namespace ingot {
namespace {

float group_scale(float scale, unsigned code) {
  return scale * (0.5F + static_cast<float>(static_cast<int>(code))) * 0.25F;
}

void write_row(uint64_t entry, uint8_t signs, float scale, float* out) {
  uint8_t values[8];
  std::memcpy(values, &entry, sizeof(values));
  write_signed_row(values, signs, scale, out);
}

}  // namespace

void dequantize(const IQ2_XXS& block, std::span<float, IQ2_XXS::kGroup> out) {
  const float scale = to_float(block.scale);
  for (size_t g = 0; g < IQ2_XXS::kGroup / 32; ++g) {
    uint32_t word;
    std::memcpy(&word, block.groups[g] + 4, sizeof(word));
    const float by = group_scale(scale, word >> 28);
    for (size_t r = 0; r < 4; ++r) {
      write_row(kIq2XxsGrid.rows[block.groups[g][r]], complete_signs((word >> (7 * r)) & 0x7F), by,
                out.data() + 32 * g + 8 * r);
    }
  }
}

void dequantize(const IQ2_XS& block, std::span<float, IQ2_XS::kGroup> out) {
  const float scale = to_float(block.scale);
  for (size_t r = 0; r < IQ2_XS::kGroup / 8; ++r) {
    const unsigned code = (block.group_scales[r / 4] >> (4 * (r % 4 / 2))) & 0xFu;
    const unsigned row = block.rows[r];
    write_row(kIq2XsGrid.rows[row & 0x1FF], complete_signs(row >> 9), group_scale(scale, code),
              out.data() + 8 * r);
  }
}

void dequantize(const IQ2_S& block, std::span<float, IQ2_S::kGroup> out) {
  const float scale = to_float(block.scale);
  for (size_t r = 0; r < IQ2_S::kGroup / 8; ++r) {
    const unsigned code = (block.group_scales[r / 4] >> (4 * (r % 4 / 2))) & 0xFu;
    const unsigned high = (block.high_bits[r / 4] >> (2 * (r % 4))) & 3u;
    write_row(kIq2SGrid.rows[block.codes[r] | (high << 8)], block.signs[r],
              group_scale(scale, code), out.data() + 8 * r);
  }
}

}  // namespace ingot

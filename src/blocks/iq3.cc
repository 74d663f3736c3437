// SPDX-License-Identifier: Apache-2.0
// IQ3_XXS and IQ3_S: two table rows of four magnitudes make eight elements, signs beside. The
// scalar truth for their kernels.
#include <cstring>

#include "blocks/iq3_s.h"
#include "blocks/iq3_xxs.h"
#include "blocks/iq_grids.h"
#include "blocks/signed_row.h"

namespace ingot {
namespace {

void write_pair(uint32_t first, uint32_t second, uint8_t signs, float scale, float* out) {
  uint8_t values[8];
  std::memcpy(values, &first, sizeof(first));
  std::memcpy(values + 4, &second, sizeof(second));
  write_signed_row(values, signs, scale, out);
}

}  // namespace

void dequantize(const IQ3_XXS& block, std::span<float, IQ3_XXS::kGroup> out) {
  const float scale = to_float(block.scale);
  for (size_t g = 0; g < IQ3_XXS::kGroup / 32; ++g) {
    uint32_t word;
    std::memcpy(&word, block.groups[g], sizeof(word));
    const float by = scale * (0.5F + static_cast<float>(static_cast<int>(word >> 28))) * 0.5F;
    for (size_t r = 0; r < 4; ++r) {
      const uint8_t* codes = block.codes + 8 * g + 2 * r;
      write_pair(kIq3XxsGrid.rows[codes[0]], kIq3XxsGrid.rows[codes[1]],
                 complete_signs((word >> (7 * r)) & 0x7F), by, out.data() + 32 * g + 8 * r);
    }
  }
}

void dequantize(const IQ3_S& block, std::span<float, IQ3_S::kGroup> out) {
  const float scale = to_float(block.scale);
  for (size_t g = 0; g < IQ3_S::kGroup / 32; ++g) {
    const int code = (block.group_scales[g / 2] >> (4 * (g % 2))) & 0xF;
    const float by = scale * static_cast<float>(2 * code + 1);
    const unsigned high = block.high_bits[g];
    for (size_t r = 0; r < 4; ++r) {
      const uint8_t* codes = block.codes + 8 * g + 2 * r;
      const unsigned pair = high >> (2 * r);
      write_pair(kIq3SGrid.rows[codes[0] | ((pair & 1) << 8)],
                 kIq3SGrid.rows[codes[1] | ((pair & 2) << 7)], block.signs[4 * g + r], by,
                 out.data() + 32 * g + 8 * r);
    }
  }
}

}  // namespace ingot

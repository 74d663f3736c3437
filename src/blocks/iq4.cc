// SPDX-License-Identifier: Apache-2.0
// IQ4_NL and IQ4_XS: sixteen uneven levels, finer near zero. The scalar truth for their kernels.
#include "blocks/iq4_nl.h"
#include "blocks/iq4_xs.h"
#include "blocks/iq_grids.h"

namespace ingot {

const int8_t kIq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                               1,    13,   25,  38,  53,  69,  89,  113};

namespace {

// 32 elements from 16 bytes. There are half as many levels as elements: scale those, then look up.
void write_levels(const uint8_t* __restrict codes, float scale, float* __restrict out) {
  float levels[16];
  for (size_t i = 0; i < 16; ++i)
    levels[i] = scale * static_cast<float>(kIq4Levels[i]);
  for (size_t i = 0; i < 16; ++i) {
    out[i] = levels[codes[i] & 0xF];
    out[16 + i] = levels[codes[i] >> 4];
  }
}

}  // namespace

void dequantize(const IQ4_NL& block, std::span<float, IQ4_NL::kGroup> out) {
  write_levels(block.codes, to_float(block.scale), out.data());
}

void dequantize(const IQ4_XS& block, std::span<float, IQ4_XS::kGroup> out) {
  const float scale = to_float(block.scale);
  for (size_t g = 0; g < IQ4_XS::kGroup / 32; ++g) {
    const int low = (block.scales_low[g / 2] >> (4 * (g % 2))) & 0xF;
    const int high = (block.scales_high >> (2 * g)) & 3;
    const int group_scale = (low | (high << 4)) - 32;
    write_levels(block.codes + 16 * g, scale * static_cast<float>(group_scale),
                 out.data() + 32 * g);
  }
}

}  // namespace ingot

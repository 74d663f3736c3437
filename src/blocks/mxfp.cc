// SPDX-License-Identifier: Apache-2.0
// MXFP4 and NVFP4: four-bit floats under a scale of eight bits. The scalar truth for their kernels.
// Levels are kept doubled, as integers, and the scale halved: that is how GGML defines them, and it
// keeps -0 out of the weights.
#include <bit>

#include "blocks/mxfp4.h"
#include "blocks/nvfp4.h"

namespace ingot {
namespace {

constexpr int8_t kDoubledE2M1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// N bytes: low nibbles are the first N elements, high nibbles the next N. Scaling the sixteen
// levels once leaves a lookup per element.
template <size_t N>
void write_fp4_group(const uint8_t* __restrict codes, float half_scale, float* __restrict out) {
  float levels[16];
  for (size_t i = 0; i < 16; ++i)
    levels[i] = half_scale * static_cast<float>(kDoubledE2M1[i]);
  for (size_t i = 0; i < N; ++i) {
    out[i] = levels[codes[i] & 0xF];
    out[N + i] = levels[codes[i] >> 4];
  }
}

// 2^(bits - 128). The two smallest are denormal floats. The NaN code 0xFF decodes to 2^127, as in
// GGML; is_finite refuses it before.
float half_of(Float8E8M0 scale) {
  const uint32_t bits = scale.bits < 2 ? 0x00200000u << scale.bits : (scale.bits - 1u) << 23;
  return std::bit_cast<float>(bits);
}

// An unsigned E4M3: the top bit is ignored, and 0x7F is zero as in GGML; is_finite refuses it
// before.
float half_of(Float8E4M3 scale) {
  if (scale.bits == 0x7F) return 0.0F;
  const unsigned exponent = (scale.bits >> 3) & 0xFu;
  const unsigned mantissa = scale.bits & 7u;
  if (exponent == 0) return static_cast<float>(mantissa) * 0x1p-10F;
  return std::bit_cast<float>(((exponent + 127 - 8) << 23) | (mantissa << 20));
}

}  // namespace

void dequantize(const MXFP4& block, std::span<float, MXFP4::kGroup> out) {
  write_fp4_group<MXFP4::kGroup / 2>(block.codes, half_of(block.scale), out.data());
}

void dequantize(const NVFP4& block, std::span<float, NVFP4::kGroup> out) {
  for (size_t g = 0; g < NVFP4::kGroup / 16; ++g) {
    write_fp4_group<8>(block.codes + 8 * g, half_of(block.group_scales[g]), out.data() + 16 * g);
  }
}

}  // namespace ingot

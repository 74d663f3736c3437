// SPDX-License-Identifier: Apache-2.0
// The K blocks: 256 elements, small scales per group under one fp16 scale. The scalar truth for
// their kernels. The block's scale is multiplied with the group's first, then with the code: the
// order decides the last bit.
#include "blocks/q2_k.h"
#include "blocks/q3_k.h"
#include "blocks/q4_k.h"
#include "blocks/q5_k.h"
#include "blocks/q6_k.h"
#include "blocks/q8_k.h"

namespace ingot {
namespace {

struct ScaleAndMin {
  float scale;
  float min;
};

// Group g of 8 in the 12 bytes that Q4_K and Q5_K share: 6 bits of scale, 6 of min. The first four
// groups are plain; the others have their nibbles in bytes 8-11 and borrow top bits from bytes 0-7.
ScaleAndMin scale_and_min(const uint8_t (&packed)[12], size_t g, float scale, float min_scale) {
  int group_scale;
  int group_min;
  if (g < 4) {
    group_scale = packed[g] & 0x3F;
    group_min = packed[g + 4] & 0x3F;
  } else {
    group_scale = (packed[g + 4] & 0xF) | ((packed[g - 4] >> 6) << 4);
    group_min = (packed[g + 4] >> 4) | ((packed[g] >> 6) << 4);
  }
  return {scale * static_cast<float>(group_scale), min_scale * static_cast<float>(group_min)};
}

// out = scale * code - min for a group of N codes.
template <size_t N>
void write_group(const int (&codes)[N], ScaleAndMin by, float* __restrict out) {
  for (size_t i = 0; i < N; ++i)
    out[i] = by.scale * static_cast<float>(codes[i]) - by.min;
}

template <size_t N>
void write_group(const int (&codes)[N], float scale, float* __restrict out) {
  for (size_t i = 0; i < N; ++i)
    out[i] = scale * static_cast<float>(codes[i]);
}

}  // namespace

void dequantize(const Q2_K& block, std::span<float, Q2_K::kGroup> out) {
  const float scale = to_float(block.scale);
  const float min_scale = to_float(block.min_scale);
  for (size_t g = 0; g < Q2_K::kGroup / 16; ++g) {
    const uint8_t* packed = block.codes + 32 * (g / 8) + 16 * (g % 2);
    const size_t shift = 2 * (g % 8 / 2);
    int codes[16];
    for (size_t i = 0; i < 16; ++i)
      codes[i] = (packed[i] >> shift) & 3;
    const int both = block.group_scales[g];
    write_group(codes,
                ScaleAndMin{scale * static_cast<float>(both & 0xF),
                            min_scale * static_cast<float>(both >> 4)},
                out.data() + 16 * g);
  }
}

void dequantize(const Q3_K& block, std::span<float, Q3_K::kGroup> out) {
  const float scale = to_float(block.scale);
  for (size_t g = 0; g < Q3_K::kGroup / 16; ++g) {
    const uint8_t* packed = block.codes + 32 * (g / 8) + 16 * (g % 2);
    const uint8_t* high = block.high_bits + 16 * (g % 2);
    const size_t shift = 2 * (g % 8 / 2);
    int codes[16];
    for (size_t i = 0; i < 16; ++i) {
      codes[i] = ((packed[i] >> shift) & 3) + 4 * ((high[i] >> (g / 2)) & 1) - 4;
    }
    const int low_nibble = (block.group_scales[g % 8] >> (4 * (g / 8))) & 0xF;
    const int top_bits = (block.group_scales[8 + g % 4] >> (2 * (g / 4))) & 3;
    const int group_scale = (low_nibble | (top_bits << 4)) - 32;
    write_group(codes, scale * static_cast<float>(group_scale), out.data() + 16 * g);
  }
}

void dequantize(const Q4_K& block, std::span<float, Q4_K::kGroup> out) {
  const float scale = to_float(block.scale);
  const float min_scale = to_float(block.min_scale);
  for (size_t g = 0; g < Q4_K::kGroup / 32; ++g) {
    const uint8_t* packed = block.codes + 32 * (g / 2);
    const size_t shift = 4 * (g % 2);
    int codes[32];
    for (size_t i = 0; i < 32; ++i)
      codes[i] = (packed[i] >> shift) & 0xF;
    write_group(codes, scale_and_min(block.group_scales, g, scale, min_scale), out.data() + 32 * g);
  }
}

void dequantize(const Q5_K& block, std::span<float, Q5_K::kGroup> out) {
  const float scale = to_float(block.scale);
  const float min_scale = to_float(block.min_scale);
  for (size_t g = 0; g < Q5_K::kGroup / 32; ++g) {
    const uint8_t* packed = block.codes + 32 * (g / 2);
    const size_t shift = 4 * (g % 2);
    int codes[32];
    for (size_t i = 0; i < 32; ++i) {
      codes[i] = ((packed[i] >> shift) & 0xF) | (((block.high_bits[i] >> g) & 1) << 4);
    }
    write_group(codes, scale_and_min(block.group_scales, g, scale, min_scale), out.data() + 32 * g);
  }
}

void dequantize(const Q6_K& block, std::span<float, Q6_K::kGroup> out) {
  const float scale = to_float(block.scale);
  for (size_t g = 0; g < Q6_K::kGroup / 16; ++g) {
    const size_t half = g / 8;
    const size_t plane = g % 8 / 2;
    const uint8_t* low = block.low_bits + 64 * half + 32 * (plane % 2) + 16 * (g % 2);
    const uint8_t* high = block.high_bits + 32 * half + 16 * (g % 2);
    const size_t low_shift = 4 * (plane / 2);
    int codes[16];
    for (size_t i = 0; i < 16; ++i) {
      const int nibble = (low[i] >> low_shift) & 0xF;
      codes[i] = (nibble | (((high[i] >> (2 * plane)) & 3) << 4)) - 32;
    }
    write_group(codes, scale * static_cast<float>(block.group_scales[g]), out.data() + 16 * g);
  }
}

void dequantize(const Q8_K& block, std::span<float, Q8_K::kGroup> out) {
  float* __restrict to = out.data();
  for (size_t i = 0; i < Q8_K::kGroup; ++i)
    to[i] = block.scale * static_cast<float>(block.codes[i]);
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// How the inputs of linear layers are packed. Only structs: files built with a target's flags read
// it.
#pragma once

#include <cstdint>

namespace ingot {

enum class ActivationLayout : uint8_t {
  kF32,      // [tokens, cols] floats, as they are
  kQ8G32,    // int8 codes with a scale and a sum per 32 values
  kQ8G256,   // int8 codes with a scale per 256 values, sums per 16 and per 32
  kBF16,     // [tokens, cols] rounded to bf16, columns padded to 32 by zeros
  kI16G128,  // codes of 13 bits with a scale per 128 values, in blocks of 256
  // The same for matrix instructions, which read sixteen tokens at once: [tokens / 16] rows of the
  // tiles below. The last may hold fewer; what stands in place of the others means nothing.
  kQ8G32Tiles,
  kQ8G256Tiles,
  kBF16Tiles,
  kI16G128Tiles,
  kQ8G32Words,  // kQ8G32 for products of words
};
inline constexpr int64_t kActivationLayouts = 10;

// 256 columns of a packed row. value = scale * code, code = round(value / scale) in [-127, 127],
// scale = max|value| / 127. A group of zeros has scale 0; one with a NaN or an infinity has scale
// NaN and codes 0, so that what is wrong shows in every output that reads it.
inline constexpr int64_t kPackedColumns = 256;
struct Q8G32 {  // when cols is no multiple of 256, the groups past the end are zero
  float scales[8];
  int32_t sums[8];   // of each 32 codes
  float weighed[8];  // scale * sum, for weights with minimums
  int8_t codes[kPackedColumns];
  int32_t padding;  // blocks of whole cache lines would meet in a few sets of the cache
};
struct Q8G32Words {
  float scales[8];
  int16_t codes[kPackedColumns];
};
struct Q8G256 {
  float scale;
  int16_t sums_of_16[16];
  int16_t sums_of_32[8];
  int8_t codes[kPackedColumns];
};
struct I16G128 {
  float scales[2];
  int32_t crossed[2];  // of each 128 codes: the sum of [i] * [i + 2], i % 4 < 2
  int16_t codes[kPackedColumns];
};
// The largest of 128 codes, unless their magnitudes would then add up to more than products with
// words up to 8191 leave room for in 32 bits: that is, unless they are half as large in the mean.
// The largest is then 4095 * 262000 / sum, the rest of the room is for rounding.
inline constexpr int kMostOfI16G128 = 4095;
inline constexpr int kMostSumOfI16G128 = 262143;
inline constexpr int kUsedSumOfI16G128 = 262000;

// Sixteen tokens. Sizes are odd numbers of cache lines, so that neighbours spread over the cache.
inline constexpr int64_t kTokensOfTile = 16;
struct alignas(64) Q8G32Tile {
  int8_t codes[8][kTokensOfTile][32];
  float scales[8][kTokensOfTile];
  float weighed[8][kTokensOfTile];
  int32_t sums[8][kTokensOfTile];
  uint8_t padding[64];
};
struct alignas(64) Q8G256Tile {
  int8_t codes[4][kTokensOfTile][64];
  float scales[kTokensOfTile];
  // Of each 16 codes, as two numbers of bf16 that add up to it: a multiple of 16, and the rest.
  uint16_t sums[kTokensOfTile][16][2];
};
struct alignas(64) I16G128Tile {
  int8_t high[4][kTokensOfTile][64];  // code >> 7
  int8_t low[4][kTokensOfTile][64];   // code & 127
  float scales[2][kTokensOfTile];
  uint8_t padding[64];
};
struct alignas(64) BF16Tile {
  uint16_t values[kTokensOfTile][32];  // of 32 columns
};

}  // namespace ingot

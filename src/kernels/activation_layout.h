// SPDX-License-Identifier: Apache-2.0
// How the inputs of linear layers are packed. Only structs: files built with a target's flags read
// it.
#pragma once

#include <cstdint>

namespace ingot {

enum class ActivationLayout : uint8_t {
  kF32,     // [tokens, cols] floats, as they are
  kQ8G32,   // int8 codes with a scale and a sum per 32 values
  kQ8G256,  // int8 codes with a scale per 256 values, sums per 16 and per 32
  kBF16,    // [tokens, cols] rounded to bf16, columns padded to 32 by zeros
};
inline constexpr int64_t kActivationLayouts = 4;

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
struct Q8G256 {
  float scale;
  int16_t sums_of_16[16];
  int16_t sums_of_32[8];
  int8_t codes[kPackedColumns];
};

}  // namespace ingot

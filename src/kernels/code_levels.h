// SPDX-License-Identifier: Apache-2.0
// The 16 levels of the 4-bit codebook layouts as the whole numbers that integer kernels multiply.
#pragma once

#include <cstdint>

namespace ingot {

// IQ4_NL and IQ4_XS.
inline constexpr int8_t kIq4Codes[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};
// E2M1 (MXFP4), doubled: 0.5 is the smallest step.
inline constexpr int8_t kE2m1Codes[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// NF4 (bitsandbytes) in two bytes: level = (128 * high + low) / 16256, off by at most half of that
// unit, 3e-5 of the largest.
inline constexpr float kNf4Unit = 16256;
inline constexpr int8_t kNf4High[16] = {-127, -89, -67, -51, -37, -24, -12, 0,
                                        10,   20,  31,  42,  55,  71,  91,  127};
inline constexpr int8_t kNf4Low[16] = {0,  75, 40, 108, 112, 68, 56,  0,
                                       14, 56, 33, 117, 124, 58, 104, 0};

}  // namespace ingot

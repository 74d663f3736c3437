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

}  // namespace ingot

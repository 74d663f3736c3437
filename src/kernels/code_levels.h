// SPDX-License-Identifier: Apache-2.0
// The levels of codebook layouts as the whole numbers that integer kernels multiply. Tables have 16
// entries, as many as a vector's byte look-up reads; those past the largest code are never read.
#pragma once

#include <cstdint>

namespace ingot {

// IQ4_NL and IQ4_XS.
inline constexpr int8_t kIq4Codes[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};
// E2M1 (MXFP4), doubled: 0.5 is the smallest step.
inline constexpr int8_t kE2m1Codes[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Q1_0.
inline constexpr int8_t kSignCodes[16] = {-1, 1};
// IQ1_M: eight times -1, 0 or 1, plus one, or (from code 4 on) minus one.
inline constexpr int8_t kIq1Codes[16] = {-7, 1, 9, 0, -9, -1, 7};
inline constexpr int kIq1Divisor = 8;
// IQ2: magnitudes, and from code 4 on the same with a sign.
inline constexpr int8_t kIq2Codes[16] = {8, 25, 43, 0, -8, -25, -43};
inline constexpr int kIq2Divisor = 8;
// IQ3_XXS, halved: all its magnitudes are even, and these fit six bits with their sign.
inline constexpr int8_t kIq3XxsCodes[16] = {2,  6,  10,  14,  18,  22,  26,  31,
                                            -2, -6, -10, -14, -18, -22, -26, -31};
inline constexpr int kIq3XxsDivisor = 2;
inline constexpr int8_t kIq3SCodes[16] = {1,  3,  5,  7,  9,  11,  13,  15,
                                          -1, -3, -5, -7, -9, -11, -13, -15};

// NF4 (bitsandbytes) in two bytes: level = (128 * high + low) / 16256, off by at most half of that
// unit, 3e-5 of the largest.
inline constexpr float kNf4Unit = 16256;
inline constexpr int8_t kNf4High[16] = {-127, -89, -67, -51, -37, -24, -12, 0,
                                        10,   20,  31,  42,  55,  71,  91,  127};
inline constexpr int8_t kNf4Low[16] = {0,  75, 40, 108, 112, 68, 56,  0,
                                       14, 56, 33, 117, 124, 58, 104, 0};

// NF4 in one byte: level = code / 124.114, off by 0.0037 of the largest at most and by 0.0018 in
// the mean of what weights are. Of all such tables with a zero it errs least (least squares over
// normal weights in blocks of 64).
inline constexpr float kNf4BytesUnit = 124.114F;
inline constexpr int8_t kNf4Bytes[16] = {-124, -86, -65, -49, -35, -23, -11, 0,
                                         10,   20,  31,  42,  55,  70,  90,  124};

// FP4 of bitsandbytes, which is not E2M1, in the same way and exactly: in units of 1 / 192.
inline constexpr float kBnbFp4Unit = 192;
inline constexpr int8_t kBnbFp4High[16] = {0, 0, 1, 1, 0, 0, 0, 0, 0, -1, -1, -2, -1, -1, -1, -1};
inline constexpr int8_t kBnbFp4Low[16] = {0, 1,   0, 64, 64, 96, 32, 48,
                                          0, 127, 0, 64, 64, 32, 96, 80};

// The same in one byte: all but the smallest, 1 / 192, are whole in units of 1 / 120.
inline constexpr float kBnbFp4BytesUnit = 120;
inline constexpr int8_t kBnbFp4Bytes[16] = {0, 1,  80,  120,  40,  60,  20,  30,
                                            0, -1, -80, -120, -40, -60, -20, -30};

}  // namespace ingot

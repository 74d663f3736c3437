// SPDX-License-Identifier: Apache-2.0
// The narrow floating-point types of checkpoints: fp16, bf16, fp8 (E4M3, E5M2), and the E8M0 scale.
// Conversions to float are exact; conversions from float round to nearest, ties to even.
// Plain structs without inline bodies that need special flags: every target reads this header.
#pragma once

#include <cstdint>

namespace ingot {

struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};
struct Float8E4M3 {  // "FN": no infinity, 0x7F and 0xFF are NaN, largest 448
  uint8_t bits;
};
struct Float8E5M2 {  // IEEE-like: has infinities, largest 57344
  uint8_t bits;
};
struct Float8E8M0 {  // a power of two, 2^(bits - 127); 0xFF is NaN
  uint8_t bits;
};

float to_float(Half value);
float to_float(BFloat16 value);
float to_float(Float8E4M3 value);
float to_float(Float8E5M2 value);
float to_float(Float8E8M0 value);

Half to_half(float value);
BFloat16 to_bfloat16(float value);
// Out of range saturates to the largest finite value for E4M3 (quantizers want 448, not NaN) and
// goes to infinity for E5M2; NaN stays NaN.
Float8E4M3 to_float8_e4m3(float value);
Float8E5M2 to_float8_e5m2(float value);

}  // namespace ingot

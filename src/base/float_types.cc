// SPDX-License-Identifier: Apache-2.0
#include "base/float_types.h"

#include <bit>
#include <cmath>
#include <limits>

namespace ingot {
namespace {

// Decodes a small IEEE-like float of 1 + exponent_bits + mantissa_bits.
float decode(uint32_t bits, int exponent_bits, int mantissa_bits, bool has_infinity) {
  const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const uint32_t exponent = (bits >> mantissa_bits) & ((1u << exponent_bits) - 1);
  const uint32_t sign = (bits >> (mantissa_bits + exponent_bits)) & 1u;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  float magnitude;
  if (has_infinity && exponent == (1u << exponent_bits) - 1) {
    magnitude = mantissa == 0 ? std::numeric_limits<float>::infinity()
                              : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissa_bits);
  } else {
    magnitude = std::ldexp(static_cast<float>(mantissa | (1u << mantissa_bits)),
                           static_cast<int>(exponent) - bias - mantissa_bits);
  }
  return sign != 0 ? -magnitude : magnitude;
}

// Encodes |value| (finite) to exponent/mantissa bits with ties to even; may overflow into the bits
// above, which the caller judges.
uint32_t encode_magnitude(float value, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const int exponent = static_cast<int>(bits >> 23) - 127;
  uint64_t significand = (bits & 0x7FFFFFu) | (bits >> 23 != 0 ? 0x800000u : 0u);  // 24 bits
  int shift = 23 - mantissa_bits;
  int biased = exponent + bias;
  if (biased <= 0) {  // a denormal of the target: shift further
    shift += 1 - biased;
    biased = 0;
  }
  if (shift > 40) return 0;
  const uint64_t half = uint64_t{1} << (shift - 1);
  const uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
  significand >>= shift;
  if (rest > half || (rest == half && (significand & 1) != 0)) ++significand;
  // A normal's implicit one carries into the exponent field, and so does a rounding overflow.
  const auto field = static_cast<uint32_t>(biased > 0 ? biased - 1 : 0) << mantissa_bits;
  return field + static_cast<uint32_t>(significand);
}

}  // namespace

float to_float(Half value) {
  // Branch-light fp16 decode: scale the shifted bits, so that denormals come out by multiplication.
  const uint32_t magnitude = static_cast<uint32_t>(value.bits & 0x7FFFu) << 13;
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000u) << 16;
  if ((value.bits & 0x7C00u) == 0x7C00u)
    return std::bit_cast<float>(sign | magnitude | 0x7F800000u);
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | sign);
}

float to_float(BFloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

float to_float(Float8E4M3 value) {
  if ((value.bits & 0x7Fu) == 0x7Fu) return std::numeric_limits<float>::quiet_NaN();
  return decode(value.bits, 4, 3, false);
}

float to_float(Float8E5M2 value) {
  return decode(value.bits, 5, 2, true);
}

float to_float(Float8E8M0 value) {
  if (value.bits == 0xFFu) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0F, static_cast<int>(value.bits) - 127);
}

Half to_half(float value) {
  const auto sign = static_cast<uint16_t>((std::bit_cast<uint32_t>(value) >> 16) & 0x8000u);
  if (std::isnan(value)) return {static_cast<uint16_t>(sign | 0x7E00u)};
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0F) return {static_cast<uint16_t>(sign | 0x7C00u)};
  return {static_cast<uint16_t>(sign | encode_magnitude(magnitude, 5, 10))};
}

BFloat16 to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return {static_cast<uint16_t>((bits >> 16) | 0x0040u)};
  return {static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16)};
}

Float8E4M3 to_float8_e4m3(float value) {
  const auto sign = static_cast<uint8_t>(std::signbit(value) ? 0x80u : 0u);
  if (std::isnan(value)) return {static_cast<uint8_t>(sign | 0x7Fu)};
  const float magnitude = std::fabs(value);
  if (magnitude >= 448.0F) return {static_cast<uint8_t>(sign | 0x7Eu)};
  const uint32_t code = encode_magnitude(magnitude, 4, 3);
  return {static_cast<uint8_t>(sign | (code > 0x7Eu ? 0x7Eu : code))};
}

Float8E5M2 to_float8_e5m2(float value) {
  const auto sign = static_cast<uint8_t>(std::signbit(value) ? 0x80u : 0u);
  if (std::isnan(value)) return {static_cast<uint8_t>(sign | 0x7Eu)};
  const float magnitude = std::fabs(value);
  if (magnitude >= 61440.0F) return {static_cast<uint8_t>(sign | 0x7Cu)};
  return {static_cast<uint8_t>(sign | encode_magnitude(magnitude, 5, 2))};
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// The narrow floats, exhaustively: every code decodes to what the definition says, and every float
// near a boundary between two codes goes to the right one.
#include "base/float_types.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

namespace ingot {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The definition of a small float, written down plainly. `top_is_special`: the largest exponent
// holds infinity and NaN, as in IEEE 754.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool top_is_special;

  uint32_t sign_bit() const { return 1u << (exponent_bits + mantissa_bits); }
  double value(uint32_t code) const {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const uint32_t mantissa = code & ((1u << mantissa_bits) - 1);
    const auto exponent = static_cast<int>((code & (sign_bit() - 1)) >> mantissa_bits);
    const double sign = (code & sign_bit()) != 0 ? -1.0 : 1.0;
    const double fraction = static_cast<double>(mantissa) / (1 << mantissa_bits);
    if (top_is_special && exponent == (1 << exponent_bits) - 1) {
      return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                           : std::numeric_limits<double>::quiet_NaN();
    }
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
    return sign * std::ldexp(1.0 + fraction, exponent - bias);
  }
};

constexpr Format kHalf = {5, 10, true};
constexpr Format kBFloat16 = {8, 7, true};
constexpr Format kE4M3 = {4, 3, false};
constexpr Format kE5M2 = {5, 2, true};

template <class Type, class Bits>
void expect_decodes(const Format& format) {
  for (uint32_t code = 0; code < 2 * format.sign_bit(); ++code) {
    const float actual = to_float(Type{static_cast<Bits>(code)});
    const double expected = format.value(code);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << code;
      continue;
    }
    EXPECT_EQ(static_cast<double>(actual), expected) << code;
    EXPECT_EQ(std::signbit(actual), (code & format.sign_bit()) != 0) << code;  // zeros have signs
  }
}

TEST(FloatTypes, EveryCodeDecodesToItsDefinition) {
  expect_decodes<Half, uint16_t>(kHalf);
  expect_decodes<BFloat16, uint16_t>(kBFloat16);
  expect_decodes<Float8E5M2, uint8_t>(kE5M2);
  for (uint32_t code = 0; code < 256; ++code) {
    const float actual = to_float(Float8E4M3{static_cast<uint8_t>(code)});
    if ((code & 0x7F) == 0x7F) {
      EXPECT_TRUE(std::isnan(actual));
    } else {
      EXPECT_EQ(static_cast<double>(actual), kE4M3.value(code)) << code;
    }
  }
  EXPECT_EQ(to_float(Float8E4M3{0x7E}), 448.0F);
  EXPECT_EQ(to_float(Float8E5M2{0x7B}), 57344.0F);
}

TEST(FloatTypes, E8M0IsAPowerOfTwo) {
  for (int code = 0; code < 255; ++code) {
    EXPECT_EQ(to_float(Float8E8M0{static_cast<uint8_t>(code)}), std::ldexp(1.0F, code - 127));
  }
  EXPECT_GT(to_float(Float8E8M0{0}), 0.0F);  // a denormal float, not zero
  EXPECT_TRUE(std::isnan(to_float(Float8E8M0{255})));
}

// Encodes every representable value, every midpoint between neighbours and the floats right beside
// the midpoint, for both signs.
template <class Encode>
void expect_nearest_even(const Format& format, uint32_t largest, Encode encode) {
  for (uint32_t code = 0; code < largest; ++code) {
    const double low = format.value(code);
    const double high = format.value(code + 1);
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(static_cast<double>(middle), (low + high) / 2) << "midpoints must be floats";
    const uint32_t even = code % 2 == 0 ? code : code + 1;
    for (const uint32_t sign : {0u, format.sign_bit()}) {
      const float s = sign != 0 ? -1.0F : 1.0F;
      ASSERT_EQ(encode(s * static_cast<float>(low)), sign | code);
      ASSERT_EQ(encode(s * middle), sign | even) << code;
      ASSERT_EQ(encode(s * std::nextafter(middle, 0.0F)), sign | code) << code;
      ASSERT_EQ(encode(s * std::nextafter(middle, kInfinity)), sign | (code + 1)) << code;
    }
  }
}

uint32_t half_bits(float value) {
  return to_half(value).bits;
}
uint32_t bfloat16_bits(float value) {
  return to_bfloat16(value).bits;
}
uint32_t e4m3_bits(float value) {
  return to_float8_e4m3(value).bits;
}
uint32_t e5m2_bits(float value) {
  return to_float8_e5m2(value).bits;
}

TEST(FloatTypes, EncodingRoundsToNearestTiesToEven) {
  expect_nearest_even(kHalf, 0x7BFF, half_bits);
  expect_nearest_even(kBFloat16, 0x7F7F, bfloat16_bits);
  expect_nearest_even(kE4M3, 0x7E, e4m3_bits);
  expect_nearest_even(kE5M2, 0x7B, e5m2_bits);
}

TEST(FloatTypes, TooLargeBecomesInfinityOrSaturates) {
  EXPECT_EQ(half_bits(65519.996F), 0x7BFFu);
  EXPECT_EQ(half_bits(65520.0F), 0x7C00u);
  EXPECT_EQ(half_bits(-1e30F), 0xFC00u);
  EXPECT_EQ(half_bits(kInfinity), 0x7C00u);
  EXPECT_EQ(bfloat16_bits(std::numeric_limits<float>::max()), 0x7F80u);
  EXPECT_EQ(bfloat16_bits(std::bit_cast<float>(0x7F7F7FFFu)), 0x7F7Fu);
  EXPECT_EQ(bfloat16_bits(-kInfinity), 0xFF80u);
  EXPECT_EQ(e4m3_bits(448.0F), 0x7Eu);
  EXPECT_EQ(e4m3_bits(449.0F), 0x7Eu);
  EXPECT_EQ(e4m3_bits(1e30F), 0x7Eu);
  EXPECT_EQ(e4m3_bits(-kInfinity), 0xFEu);
  EXPECT_EQ(e5m2_bits(std::nextafter(61440.0F, 0.0F)), 0x7Bu);
  EXPECT_EQ(e5m2_bits(61440.0F), 0x7Cu);
  EXPECT_EQ(e5m2_bits(-kInfinity), 0xFCu);
}

TEST(FloatTypes, TooSmallBecomesASignedZero) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  for (const auto& [encode, sign] : {std::pair(&half_bits, 0x8000u), std::pair(&e4m3_bits, 0x80u),
                                     std::pair(&e5m2_bits, 0x80u)}) {
    EXPECT_EQ(encode(tiny), 0u);
    EXPECT_EQ(encode(-tiny), sign);
    EXPECT_EQ(encode(-0.0F), sign);
  }
  EXPECT_EQ(half_bits(0x1p-25F), 0u);  // half of the smallest denormal: a tie, to even
  EXPECT_EQ(half_bits(0x1.000002p-25F), 1u);
  EXPECT_EQ(bfloat16_bits(tiny), 0u);
}

TEST(FloatTypes, NanStaysNan) {
  for (const float nan :
       {kNan, -kNan, std::bit_cast<float>(0x7F800001u), std::bit_cast<float>(0xFFFFFFFFu)}) {
    EXPECT_TRUE(std::isnan(to_float(to_half(nan))));
    EXPECT_TRUE(std::isnan(to_float(to_bfloat16(nan))));
    EXPECT_TRUE(std::isnan(to_float(to_float8_e4m3(nan))));
    EXPECT_TRUE(std::isnan(to_float(to_float8_e5m2(nan))));
  }
}

// Random bit patterns of all magnitudes: no other code may be closer.
TEST(FloatTypes, NoOtherHalfIsCloser) {
  std::mt19937 random(11);
  for (int round = 0; round < 200'000; ++round) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!(std::fabs(value) < 65504.0F)) continue;
    const auto code = static_cast<uint32_t>(to_half(std::fabs(value)).bits);
    const double error = std::fabs(kHalf.value(code) - std::fabs(value));
    ASSERT_LE(error, std::fabs(kHalf.value(code + 1) - std::fabs(value)));
    if (code == 0) continue;
    ASSERT_LE(error, std::fabs(kHalf.value(code - 1) - std::fabs(value)));
  }
}

}  // namespace
}  // namespace ingot

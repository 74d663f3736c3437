// SPDX-License-Identifier: Apache-2.0
#include "blocks/elements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/float_types.h"

namespace ingot {
namespace {

template <class Stored>
std::vector<float> decoded(Layout layout, const std::vector<Stored>& stored) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(stored));
  const LayoutInfo& about = info(layout);
  std::vector<float> out(bytes.size() / about.block_bytes * about.block_elements);
  dequantize(layout, bytes, out);
  return out;
}

void expect_same(float actual, float expected, uint32_t code) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << code;
  } else {
    EXPECT_EQ(std::bit_cast<uint32_t>(actual), std::bit_cast<uint32_t>(expected)) << code;
  }
}

// Every code of a narrow float type, in one long row, must be what base/float_types.h says.
template <class Type, class Bits>
void expect_all_codes(Layout layout) {
  std::vector<Bits> codes(size_t{1} << (8 * sizeof(Bits)));
  for (size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<Bits>(i);
  const std::vector<float> out = decoded(layout, codes);
  ASSERT_EQ(out.size(), codes.size());
  for (size_t i = 0; i < codes.size(); ++i) {
    expect_same(out[i], to_float(Type{codes[i]}), static_cast<uint32_t>(i));
  }
}

TEST(Elements, DecodeEveryCodeOfTheNarrowFloats) {
  expect_all_codes<Half, uint16_t>(Layout::kF16);
  expect_all_codes<BFloat16, uint16_t>(Layout::kBF16);
  expect_all_codes<Float8E4M3, uint8_t>(Layout::kF8_E4M3);
  expect_all_codes<Float8E5M2, uint8_t>(Layout::kF8_E5M2);
  expect_all_codes<Float8E8M0, uint8_t>(Layout::kF8_E8M0);
}

TEST(Elements, DecodePackedFourBitFloatsLowNibbleFirst) {
  constexpr float kMagnitudes[8] = {0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F};
  std::vector<uint8_t> bytes(256);
  for (size_t i = 0; i < 256; ++i)
    bytes[i] = static_cast<uint8_t>(i);
  const std::vector<float> out = decoded(Layout::kF4_E2M1, bytes);
  const auto value = [&](size_t code) {
    return code < 8 ? kMagnitudes[code] : -kMagnitudes[code - 8];
  };
  for (size_t i = 0; i < 256; ++i) {
    expect_same(out[2 * i], value(i & 0xF), static_cast<uint32_t>(i));
    expect_same(out[2 * i + 1], value(i >> 4), static_cast<uint32_t>(i));
  }
}

float six_bits(uint32_t code, int mantissa_bits) {
  const int exponent_bits = 5 - mantissa_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto exponent = static_cast<int>((code & 0x1F) >> mantissa_bits);
  const auto mantissa = static_cast<float>(code & ((1u << mantissa_bits) - 1));
  const float one = exponent == 0 ? 0.0F : std::ldexp(1.0F, mantissa_bits);
  const float magnitude =
      std::ldexp(one + mantissa, (exponent == 0 ? 1 : exponent) - bias - mantissa_bits);
  return (code & 0x20) != 0 ? -magnitude : magnitude;
}

TEST(Elements, DecodePackedSixBitFloatsFromTheLowEnd) {
  std::vector<uint8_t> bytes;
  std::vector<uint32_t> codes;
  for (uint32_t i = 0; i < 64; ++i) {
    const uint32_t run[4] = {i, 63 - i, (i * 7) & 63, (i + 21) & 63};
    const uint32_t word = run[0] | (run[1] << 6) | (run[2] << 12) | (run[3] << 18);
    for (int b = 0; b < 3; ++b)
      bytes.push_back(static_cast<uint8_t>(word >> (8 * b)));
    codes.insert(codes.end(), std::begin(run), std::end(run));
  }
  const std::vector<float> e2m3 = decoded(Layout::kF6_E2M3, bytes);
  const std::vector<float> e3m2 = decoded(Layout::kF6_E3M2, bytes);
  ASSERT_EQ(e2m3.size(), codes.size());
  for (size_t i = 0; i < codes.size(); ++i) {
    expect_same(e2m3[i], six_bits(codes[i], 3), codes[i]);
    expect_same(e3m2[i], six_bits(codes[i], 2), codes[i]);
  }
  EXPECT_EQ(*std::ranges::max_element(e2m3), 7.5F);
  EXPECT_EQ(*std::ranges::max_element(e3m2), 28.0F);
}

template <class Stored>
void expect_cast(Layout layout) {
  using Limits = std::numeric_limits<Stored>;
  const std::vector<Stored> stored = {Stored{0},     Stored{1},        Stored{77},
                                      Limits::min(), Limits::lowest(), Limits::max()};
  const std::vector<float> out = decoded(layout, stored);
  for (size_t i = 0; i < stored.size(); ++i) {
    EXPECT_EQ(out[i], static_cast<float>(stored[i])) << info(layout).name << " " << i;
  }
}

TEST(Elements, ConvertIntegersByValue) {
  expect_cast<int8_t>(Layout::kI8);
  expect_cast<int16_t>(Layout::kI16);
  expect_cast<int32_t>(Layout::kI32);
  expect_cast<int64_t>(Layout::kI64);
  expect_cast<uint8_t>(Layout::kU8);
  expect_cast<uint16_t>(Layout::kU16);
  expect_cast<uint32_t>(Layout::kU32);
  expect_cast<uint64_t>(Layout::kU64);
}

TEST(Elements, DecodeTheRest) {
  EXPECT_EQ(decoded<float>(Layout::kF32, {1.5F, -0.0F}), (std::vector<float>{1.5F, 0.0F}));
  EXPECT_EQ(decoded<double>(Layout::kF64, {0.1, -1e-60, 0x1.000001p0}),
            (std::vector<float>{0.1F, 0.0F, 1.0F}));  // the last is a tie: it goes to even
  EXPECT_EQ(decoded<uint8_t>(Layout::kBool, {0, 1, 2}), (std::vector<float>{0.0F, 1.0F, 1.0F}));
  EXPECT_EQ(decoded<float>(Layout::kC64, {3.0F, 4.0F, 5.0F, 6.0F}),
            (std::vector<float>{3.0F, 5.0F}));
}

TEST(Elements, EncodeRoundsAsTheCastsOfBase) {
  std::mt19937 random(7);
  std::vector<float> values = {0.0F,   -0.0F, 1.0F,     65504.0F,
                               448.0F, 1e-8F, -3.0e38F, std::numeric_limits<float>::infinity()};
  for (int i = 0; i < 2000; ++i) {
    values.push_back(std::ldexp(static_cast<float>(random() % 4096) - 2048.0F,
                                static_cast<int>(random() % 40) - 30));
  }
  std::vector<uint16_t> wide(values.size());
  const std::span<std::byte> wide_bytes = std::as_writable_bytes(std::span(wide));
  std::vector<uint8_t> narrow(values.size());
  const std::span<std::byte> narrow_bytes = std::as_writable_bytes(std::span(narrow));

  encode_elements(Layout::kF16, values, wide_bytes);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(wide[i], to_half(values[i]).bits);
  encode_elements(Layout::kBF16, values, wide_bytes);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(wide[i], to_bfloat16(values[i]).bits);
  encode_elements(Layout::kF8_E4M3, values, narrow_bytes);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(narrow[i], to_float8_e4m3(values[i]).bits);
  encode_elements(Layout::kF8_E5M2, values, narrow_bytes);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(narrow[i], to_float8_e5m2(values[i]).bits);

  std::vector<float> same(values.size());
  encode_elements(Layout::kF32, values, std::as_writable_bytes(std::span(same)));
  EXPECT_EQ(same, values);
}

TEST(Elements, EncodeAndDecodeAreInverse) {
  for (const Layout layout : {Layout::kF16, Layout::kBF16, Layout::kF8_E4M3, Layout::kF8_E5M2}) {
    const size_t size = info(layout).block_bytes;
    std::vector<std::byte> stored((size_t{1} << (8 * size)) * size);
    for (size_t i = 0; i < stored.size() / size; ++i) {
      std::memcpy(stored.data() + i * size, &i, size);
    }
    std::vector<float> values(stored.size() / size);
    dequantize(layout, stored, values);
    std::vector<std::byte> again(stored.size());
    encode_elements(layout, values, again);
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values[i])) continue;
      ASSERT_EQ(std::memcmp(again.data() + i * size, stored.data() + i * size, size), 0)
          << info(layout).name << " code " << i;
    }
  }
}

TEST(ElementsDeathTest, EncodeRefusesLayoutsThatChooseCodes) {
  EXPECT_FALSE(can_encode_elements(Layout::kQ8_0));
  EXPECT_FALSE(can_encode_elements(Layout::kI8));
  const std::array<float, 32> values{};
  std::array<std::byte, 34> out{};
  EXPECT_DEATH(encode_elements(Layout::kQ8_0, values, out), "can_encode_elements");
  EXPECT_DEATH(encode_elements(Layout::kF16, values, out), "out.size");
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "base/checked.h"

#include <gtest/gtest.h>

#include <random>

namespace ingot {
namespace {

__extension__ using Wide = unsigned __int128;
constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST(CheckedSize, AddsAndMultipliesWhileItFits) {
  EXPECT_EQ((CheckedSize(3) + 4).value(), 7u);
  EXPECT_EQ((CheckedSize(3) * 4).value(), 12u);
  EXPECT_EQ((CheckedSize(kMax) + 0).value(), kMax);
  EXPECT_EQ((CheckedSize(kMax) * 1).value(), kMax);
  EXPECT_EQ(CheckedSize().value(), 0u);
}

TEST(CheckedSize, RemembersAnOverflowWhateverFollows) {
  const CheckedSize sum = CheckedSize(kMax) + 1;
  EXPECT_FALSE(sum.is_valid());
  EXPECT_EQ(sum.value(), std::nullopt);
  EXPECT_FALSE((sum + 0).is_valid());
  EXPECT_FALSE((sum * 0).is_valid());
  EXPECT_FALSE((CheckedSize(0) * sum).is_valid());
  EXPECT_FALSE(sum.round_up(8).is_valid());
  EXPECT_FALSE(sum.fits(kMax));
  EXPECT_EQ(sum.value_or(42), 42u);
  EXPECT_FALSE((CheckedSize(uint64_t{1} << 32) * (uint64_t{1} << 32)).is_valid());
}

TEST(CheckedSize, RefusesNegativeNumbers) {
  EXPECT_FALSE(CheckedSize(-1).is_valid());
  EXPECT_FALSE(CheckedSize(std::numeric_limits<int64_t>::min()).is_valid());
  EXPECT_FALSE((CheckedSize(-1) + 2).is_valid());
  EXPECT_TRUE(CheckedSize(int8_t{127}).is_valid());
}

TEST(CheckedSize, FitsMeansValidAndWithinTheLimit) {
  EXPECT_TRUE(CheckedSize(8).fits(8));
  EXPECT_FALSE(CheckedSize(9).fits(8));
  EXPECT_TRUE(CheckedSize(kMax).fits(kMax));
}

TEST(CheckedSize, RoundsUpToAUnitOrRefuses) {
  EXPECT_EQ(CheckedSize(0).round_up(32).value(), 0u);
  EXPECT_EQ(CheckedSize(1).round_up(32).value(), 32u);
  EXPECT_EQ(CheckedSize(32).round_up(32).value(), 32u);
  EXPECT_EQ(CheckedSize(33).round_up(7).value(), 35u);
  EXPECT_EQ(CheckedSize(kMax).round_up(1).value(), kMax);
  EXPECT_FALSE(CheckedSize(kMax - 1).round_up(32).is_valid());
  EXPECT_FALSE(CheckedSize(5).round_up(0).is_valid());
}

TEST(CheckedSize, IsUsableAtCompileTime) {
  static_assert((CheckedSize(6) * 7).value() == 42u);
  static_assert(!(CheckedSize(kMax) * 2).is_valid());
}

TEST(CheckedSize, AgreesWith128BitArithmetic) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 500'000; ++round) {
    const uint64_t a = random() >> (random() % 64);
    const uint64_t b = random() >> (random() % 64);
    const Wide sum = Wide{a} + b;
    const Wide product = Wide{a} * b;
    const uint64_t unit = 1 + (b >> 8);
    const Wide rounded = (Wide{a} + unit - 1) / unit * unit;
    const auto agrees = [](CheckedSize checked, Wide truth) {
      return checked.is_valid() ? Wide{checked.value_or(0)} == truth : truth >> 64 != 0;
    };
    ASSERT_TRUE(agrees(CheckedSize(a) + b, sum)) << a << " + " << b;
    ASSERT_TRUE(agrees(CheckedSize(a) * b, product)) << a << " * " << b;
    ASSERT_TRUE(agrees(CheckedSize(a).round_up(unit), rounded)) << a << " to " << unit;
  }
}

TEST(Narrow, KeepsTheValueOrGivesNothing) {
  EXPECT_EQ(narrow<uint8_t>(255), uint8_t{255});
  EXPECT_EQ(narrow<uint8_t>(256), std::nullopt);
  EXPECT_EQ(narrow<uint8_t>(-1), std::nullopt);
  EXPECT_EQ(narrow<int8_t>(128), std::nullopt);
  EXPECT_EQ(narrow<int8_t>(-128), int8_t{-128});
  EXPECT_EQ(narrow<uint64_t>(int64_t{-1}), std::nullopt);
  EXPECT_EQ(narrow<int64_t>(kMax), std::nullopt);
  EXPECT_EQ(narrow<int64_t>(kMax >> 1), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(narrow<int32_t>(int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(narrow<int32_t>(-(int64_t{1} << 31)), std::numeric_limits<int32_t>::min());
}

}  // namespace
}  // namespace ingot

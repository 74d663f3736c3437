// SPDX-License-Identifier: Apache-2.0
// What holds for the encoder of every layout.
#include "quant/quantize_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "quant/test_rows.h"

namespace ingot {
namespace {

constexpr size_t kCols = 768;  // three large blocks: the last batch of sixteen groups is not full
constexpr size_t kRows = 5;

std::vector<Layout> layouts_with_encoders() {
  std::vector<Layout> layouts;
  for (size_t i = 0; i < kLayoutCount; ++i) {
    if (can_quantize(static_cast<Layout>(i))) layouts.push_back(static_cast<Layout>(i));
  }
  return layouts;
}

class EveryEncoder : public testing::TestWithParam<Layout> {};

// The highest relative error of a layout on normally spread weights: what a uniform quantizer of as
// many levels leaves at its best, and a tenth more for scales that are stored in few bits.
double highest_error(Layout layout) {
  switch (layout) {
    case Layout::kF32:
      return 0;
    case Layout::kF16:
      return 1e-7;
    case Layout::kBF16:
      return 4e-6;
    case Layout::kQ8_0:
      return 4e-5;
    case Layout::kQ6_K:
      return 4e-4;
    case Layout::kQ5_0:
    case Layout::kQ5_1:
    case Layout::kQ5_K:
      return 2e-3;
    case Layout::kQ4_0:
    case Layout::kQ4_1:
    case Layout::kQ4_K:
    case Layout::kIQ4_NL:
    case Layout::kIQ4_XS:
      return 8e-3;
    case Layout::kMXFP4:
    case Layout::kNVFP4:
      return 1.5e-2;
    case Layout::kQ3_K:
    case Layout::kIQ3_S:
      return 2.5e-2;
    case Layout::kIQ3_XXS:
      return 4e-2;
    case Layout::kIQ2_S:
    case Layout::kIQ2_XS:
    case Layout::kQ2_K:
      return 0.1;
    case Layout::kIQ2_XXS:
      return 0.13;
    case Layout::kTQ1_0:
    case Layout::kTQ2_0:
    case Layout::kQ2_0:
    case Layout::kIQ1_M:
      return 0.21;
    case Layout::kIQ1_S:
      return 0.25;
    default:
      return 0.38;  // signs alone: 1 - 2 / pi
  }
}

TEST_P(EveryEncoder, KeepsNormalRowsWithinItsBound) {
  const std::vector<float> values = normal_rows(kRows * kCols, 0.02F, 1);
  const std::vector<float> actual = round_trip(GetParam(), values, kCols);
  EXPECT_LE(relative_error(values, actual), highest_error(GetParam()));
}

TEST_P(EveryEncoder, KeepsZerosExactly) {
  const std::vector<float> values(kRows * kCols, 0.0F);
  for (const float value : round_trip(GetParam(), values, kCols))
    ASSERT_EQ(value, 0.0F);
}

TEST_P(EveryEncoder, GivesTheSameBytesHoweverRowsAreSplit) {
  const std::vector<float> values = heavy_rows(kRows * kCols, 0.02F, 2);
  const std::vector<float> importance = importance_of(kCols, 3);
  for (const std::span<const float> weights : {std::span<const float>(), std::span(importance)}) {
    const std::vector<std::byte> whole = encoded(GetParam(), values, kCols, weights);
    std::vector<std::byte> parts;
    for (size_t row = 0; row < kRows; ++row) {
      const auto part =
          encoded(GetParam(), std::span(values).subspan(row * kCols, kCols), kCols, weights);
      parts.insert(parts.end(), part.begin(), part.end());
    }
    EXPECT_EQ(whole, parts);
  }
}

TEST_P(EveryEncoder, WritesFiniteScalesForRowsOfAnySize) {
  for (const float spread : {1e-42F, 1e-30F, 1e-7F, 1e3F, 1e6F, 1e20F, 3e37F}) {
    const std::vector<float> values = normal_rows(kCols, spread, 4);
    const std::vector<float> importance = importance_of(kCols, 5);
    for (const std::span<const float> weights : {std::span<const float>(), std::span(importance)}) {
      const std::vector<std::byte> bytes = encoded(GetParam(), values, kCols, weights);
      if (GetParam() == Layout::kF16 && spread > 1e4F) continue;  // a cast, not a choice
      EXPECT_TRUE(is_finite(GetParam(), bytes)) << spread;
      for (const float value : decoded(GetParam(), bytes, kCols))
        ASSERT_TRUE(std::isfinite(value)) << spread;
    }
  }
}

TEST_P(EveryEncoder, SurvivesValuesThatAreNotFinite) {
  if (!info(GetParam()).is_quantized) return;
  std::vector<float> values = normal_rows(kCols, 1.0F, 6);
  values[3] = std::numeric_limits<float>::quiet_NaN();
  values[300] = std::numeric_limits<float>::infinity();
  values[600] = -std::numeric_limits<float>::infinity();
  const std::vector<std::byte> bytes = encoded(GetParam(), values, kCols);
  EXPECT_TRUE(is_finite(GetParam(), bytes));
  for (float& value : values)
    value = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(is_finite(GetParam(), encoded(GetParam(), values, kCols)));
}

TEST_P(EveryEncoder, KeepsAnOutlierAndLosesNoMoreThanItsBlock) {
  std::vector<float> values = normal_rows(2 * kCols, 0.02F, 7);
  const std::vector<float> before = round_trip(GetParam(), values, kCols);
  values[kCols + 100] = 3.0F;
  const std::vector<float> after = round_trip(GetParam(), values, kCols);
  if (highest_error(GetParam()) < 0.03) {
    EXPECT_NEAR(after[kCols + 100], 3.0F, 0.35F);
  }
  const size_t block = info(GetParam()).block_elements;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i / block != (kCols + 100) / block) {
      ASSERT_EQ(before[i], after[i]) << i;
    }
  }
}

TEST_P(EveryEncoder, MovesErrorToUnimportantColumns) {
  if (!info(GetParam()).is_quantized || GetParam() == Layout::kQ8_0) return;
  const std::vector<float> values = normal_rows(16 * kCols, 0.02F, 8);
  std::vector<float> importance(kCols, 0.01F);
  for (size_t i = 0; i < kCols; i += 8)
    importance[i] = 10.0F;
  const std::vector<float> blind = round_trip(GetParam(), values, kCols);
  const std::vector<float> aware = round_trip(GetParam(), values, kCols, importance);
  EXPECT_LT(relative_error(values, aware, importance),
            0.95 * relative_error(values, blind, importance));
}

TEST_P(EveryEncoder, TreatsColumnsWithoutImportanceAsEqual) {
  const std::vector<float> values = normal_rows(kCols, 0.02F, 9);
  const std::vector<float> none(kCols, 0.0F);
  const std::vector<float> actual = round_trip(GetParam(), values, kCols, none);
  EXPECT_LE(relative_error(values, actual), highest_error(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Layouts, EveryEncoder, testing::ValuesIn(layouts_with_encoders()),
                         [](const testing::TestParamInfo<Layout>& at) {
                           return std::string(ingot::info(at.param).name);
                         });

TEST(QuantizeRows, HasNoEncoderForActivationsAndIntegers) {
  for (const Layout layout : {Layout::kQ8_1, Layout::kQ8_K, Layout::kI32, Layout::kF64})
    EXPECT_FALSE(can_quantize(layout)) << info(layout).name;
}

TEST(QuantizeRows, AsksForImportanceBelowThreeBits) {
  for (const Layout layout : {Layout::kIQ1_S, Layout::kIQ1_M, Layout::kIQ2_XXS, Layout::kIQ2_XS,
                              Layout::kIQ2_S, Layout::kIQ3_XXS})
    EXPECT_TRUE(needs_importance(layout)) << info(layout).name;
  for (const Layout layout : {Layout::kQ2_K, Layout::kIQ3_S, Layout::kTQ1_0, Layout::kQ8_0})
    EXPECT_FALSE(needs_importance(layout)) << info(layout).name;
}

}  // namespace
}  // namespace ingot

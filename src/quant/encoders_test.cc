// SPDX-License-Identifier: Apache-2.0
// The encoders of one target against another's, and what they do with values already on a grid.
#include "quant/encoders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/float_types.h"
#include "quant/test_rows.h"

namespace ingot {
namespace {

std::vector<std::byte> encoded_by(const quant::EncodeTarget& target, Layout layout,
                                  std::span<const float> values, size_t cols,
                                  const float* importance) {
  std::vector<std::byte> bytes(*storage_bytes(layout, values.size()).value());
  target.find(layout)({values.data(), values.size(), cols, importance, bytes.data()});
  return bytes;
}

TEST(Encoders, EveryTargetWritesTheSameBytes) {
  constexpr size_t kCols = 1280;
  const std::vector<float> values = heavy_rows(kCols, 0.05F, 11);
  const std::vector<float> importance = importance_of(kCols, 12);
  const std::span<const quant::EncodeTarget> targets = quant::encode_targets();
  ASSERT_STREQ(targets.back().name, "generic");
  for (size_t i = 0; i < kLayoutCount; ++i) {
    const auto layout = static_cast<Layout>(i);
    if (targets.back().find(layout) == nullptr) continue;
    for (const float* weights : {static_cast<const float*>(nullptr), importance.data()}) {
      const auto expected = encoded_by(targets.back(), layout, values, kCols, weights);
      for (const quant::EncodeTarget& target : targets) {
        EXPECT_EQ(encoded_by(target, layout, values, kCols, weights), expected)
            << target.name << " " << info(layout).name;
      }
    }
  }
}

// A block's values that use the whole range of codes have only one best scale: that block's.
class OnGrid : public testing::TestWithParam<Layout> {};

TEST_P(OnGrid, IsKeptExactly) {
  constexpr size_t kCols = 512;
  const std::vector<float> values = heavy_rows(8 * kCols, 0.05F, 13);
  const std::vector<float> once = round_trip(GetParam(), values, kCols);
  const std::vector<float> twice = round_trip(GetParam(), once, kCols);
  EXPECT_EQ(once, twice);
}

INSTANTIATE_TEST_SUITE_P(Layouts, OnGrid,
                         testing::Values(Layout::kF32, Layout::kF16, Layout::kBF16, Layout::kQ8_0,
                                         Layout::kMXFP4, Layout::kQ1_0, Layout::kTQ1_0,
                                         Layout::kTQ2_0),
                         [](const testing::TestParamInfo<Layout>& at) {
                           return std::string(ingot::info(at.param).name);
                         });

struct Grid {
  Layout layout;
  int low;
  int high;
  int unit = 1;  // the group's integer under the block's scale, where there is one
};
class FullRange : public testing::TestWithParam<Grid> {};

TEST_P(FullRange, IsKeptExactly) {
  const auto [layout, low, high, unit] = GetParam();
  const size_t block = info(layout).block_elements;
  std::mt19937 random(14);
  std::uniform_int_distribution<int> code(low, high);
  std::vector<float> values(64 * block);
  for (size_t i = 0; i < values.size(); ++i) {
    const float scale = 0x1p-9F * static_cast<float>(unit * static_cast<int>(1 + i / block % 31));
    values[i] = scale * static_cast<float>(i % 16 == 0 ? low : i % 16 == 1 ? high : code(random));
  }
  const std::vector<float> importance = importance_of(block, 15);
  EXPECT_EQ(round_trip(layout, values, block), values);
  EXPECT_EQ(round_trip(layout, values, block, importance), values);
}

INSTANTIATE_TEST_SUITE_P(Layouts, FullRange,
                         testing::Values(Grid{Layout::kQ4_0, -8, 7}, Grid{Layout::kQ4_1, 0, 15},
                                         Grid{Layout::kQ5_0, -16, 15}, Grid{Layout::kQ5_1, -3, 28},
                                         Grid{Layout::kQ8_0, -127, 127},
                                         Grid{Layout::kQ2_K, 0, 3, 15}, Grid{Layout::kQ3_K, -4, 3},
                                         Grid{Layout::kQ4_K, 0, 15, 63},
                                         Grid{Layout::kQ5_K, 0, 31, 63},
                                         Grid{Layout::kQ6_K, -32, 31}, Grid{Layout::kTQ1_0, -1, 1},
                                         Grid{Layout::kTQ2_0, -1, 1}, Grid{Layout::kQ2_0, -1, 2}),
                         [](const testing::TestParamInfo<Grid>& at) {
                           return std::string(ingot::info(at.param.layout).name);
                         });

TEST(Encoders, CastToHalfLikeTheScalarOne) {
  std::vector<float> values;
  for (uint32_t half = 0; half < 0x10000; ++half) {
    const float value = to_float(Half{static_cast<uint16_t>(half)});
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    for (const uint32_t near :
         {bits - 1, bits, bits + 1, bits + 0xFFF, bits + 0x1000, bits + 0x1001})
      values.push_back(std::bit_cast<float>(near));
  }
  for (uint32_t bits = 0; bits < 0xFFFF0000u; bits += 65521)
    values.push_back(std::bit_cast<float>(bits));
  for (const quant::EncodeTarget& target : quant::encode_targets()) {
    const auto bytes = encoded_by(target, Layout::kF16, values, values.size(), nullptr);
    for (size_t i = 0; i < values.size(); ++i) {
      uint16_t actual = 0;
      std::memcpy(&actual, bytes.data() + 2 * i, sizeof(actual));
      ASSERT_EQ(actual, to_half(values[i]).bits) << target.name << " " << values[i];
    }
  }
}

TEST(Encoders, KeepConstantRows) {
  for (const float value : {0.5F, -0.5F}) {
    const std::vector<float> values(512, value);
    for (const Layout layout :
         {Layout::kQ4_0, Layout::kQ4_1, Layout::kQ5_0, Layout::kQ5_1, Layout::kQ8_0, Layout::kQ2_K,
          Layout::kQ3_K, Layout::kQ4_K, Layout::kQ5_K, Layout::kQ6_K}) {
      for (const float actual : round_trip(layout, values, 512))
        ASSERT_NEAR(actual, value, 0.0005F) << info(layout).name;
    }
  }
}

TEST(Encoders, SearchBeatsRoundingToTheExtreme) {
  const std::vector<float> values = normal_rows(64 * 512, 0.02F, 16);
  std::vector<float> plain(values.size());
  for (size_t block = 0; block < values.size(); block += 32) {
    const std::span<const float> x = std::span(values).subspan(block, 32);
    const float peak = *std::ranges::max_element(x, {}, [](float v) { return std::abs(v); });
    const float scale = peak / -8.0F;
    for (size_t i = 0; i < 32; ++i)
      plain[block + i] = scale * std::clamp(std::round(x[i] / scale), -8.0F, 7.0F);
  }
  EXPECT_LT(relative_error(values, round_trip(Layout::kQ4_0, values, 512)),
            0.93 * relative_error(values, plain));
}

}  // namespace
}  // namespace ingot

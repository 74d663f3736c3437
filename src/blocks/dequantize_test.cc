// SPDX-License-Identifier: Apache-2.0
// Every packed layout against tests/data/blocks (tools/make_block_fixtures.py): bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/mapped_file.h"
#include "blocks/iq_grids.h"
#include "blocks/layout.h"
#include "blocks/visit_layout.h"

namespace ingot {
namespace {

const std::filesystem::path kFolder =
    std::filesystem::path(INGOT_SOURCE_DIR) / "tests" / "data" / "blocks";

std::string read(const std::string& name) {
  Result<std::string> text = read_small_file(kFolder / name, uint64_t{1} << 20);
  EXPECT_TRUE(text.is_ok()) << text.status().message();
  return text.is_ok() ? *text : std::string();
}

std::vector<float> as_floats(const std::string& bytes) {
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), floats.size() * sizeof(float));
  return floats;
}

uint64_t fnv1a(std::span<const std::byte> bytes) {
  uint64_t digest = 0xCBF29CE484222325u;
  for (const std::byte byte : bytes) {
    digest = (digest ^ static_cast<uint8_t>(byte)) * 0x100000001B3u;
  }
  return digest;
}

class EveryPackedLayout : public testing::TestWithParam<Layout> {
 protected:
  std::string name() const { return std::string(info(GetParam()).name); }
  std::string blocks() const { return read(name() + ".blocks"); }
};

TEST_P(EveryPackedLayout, DecodesTheFixtureBitForBit) {
  const Result<Json> expected = read_json_file(kFolder / "expected.json");
  ASSERT_TRUE(expected.is_ok()) << expected.status().message();
  const Json& entry = expected->at(name());
  const std::string stored = blocks();
  std::vector<float> actual(entry.at("elements").get<size_t>(), std::bit_cast<float>(0xFFFFFFFFu));
  ASSERT_EQ(storage_bytes(GetParam(), actual.size()).value(), stored.size());

  dequantize(GetParam(), std::as_bytes(std::span(stored)), actual);

  const std::vector<float> shown = as_floats(read(name() + ".f32"));
  ASSERT_GE(shown.size(), info(GetParam()).block_elements);
  for (size_t i = 0; i < shown.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(actual[i]), std::bit_cast<uint32_t>(shown[i]))
        << "element " << i << ": " << actual[i] << " instead of " << shown[i];
  }
  EXPECT_EQ(fnv1a(std::as_bytes(std::span(actual))),
            std::stoull(entry.at("fnv1a").get<std::string>(), nullptr, 16));
}

TEST_P(EveryPackedLayout, DecodesAtAnyAlignmentAndTouchesNothingElse) {
  const LayoutInfo& about = info(GetParam());
  const std::string stored = blocks().substr(0, size_t{3} * about.block_bytes);
  std::vector<float> aligned(size_t{3} * about.block_elements);
  dequantize(GetParam(), std::as_bytes(std::span(stored)), aligned);

  const std::string shifted = "x" + stored;
  std::vector<float> guarded(aligned.size() + 2, 12345.0F);
  dequantize(GetParam(), std::as_bytes(std::span(shifted)).subspan(1),
             std::span(guarded).subspan(1, aligned.size()));
  EXPECT_EQ(guarded.front(), 12345.0F);
  EXPECT_EQ(guarded.back(), 12345.0F);
  EXPECT_EQ(std::memcmp(guarded.data() + 1, aligned.data(), aligned.size() * sizeof(float)), 0);
}

TEST_P(EveryPackedLayout, DecodesNoBlocksToNothing) {
  dequantize(GetParam(), {}, {});
}

std::vector<Layout> packed_layouts() {
  std::vector<Layout> packed;
  for (size_t i = 0; i < kLayoutCount; ++i) {
    const auto layout = static_cast<Layout>(i);
    if (visit_layout(layout, []<class Block>() {})) packed.push_back(layout);
  }
  return packed;
}

std::string test_name(const testing::TestParamInfo<Layout>& test) {
  return std::string(info(test.param).name);
}
INSTANTIATE_TEST_SUITE_P(Blocks, EveryPackedLayout, testing::ValuesIn(packed_layouts()), test_name);

// Worked by hand, so that the fixtures are not the only truth.
TEST(Dequantize, FollowsTheFormulaOfQ4_0) {
  Q4_0 block{.scale = to_half(0.5F), .codes = {}};
  for (uint8_t& byte : block.codes)
    byte = 0x88;
  block.codes[3] = 0xF0;  // element 3 is code 0, element 19 is code 15
  std::array<float, 32> out{};
  dequantize(block, out);
  EXPECT_EQ(out[3], -4.0F);
  EXPECT_EQ(out[19], 3.5F);
  EXPECT_EQ(out[0], 0.0F);
}

TEST(Dequantize, RoundsTheProductOfBothScalesFirstInQ4_K) {
  Q4_K block{};
  block.scale = Half{0x3555};      // about a third: the products below do not fit 24 bits
  block.min_scale = Half{0x2E67};  // about a tenth
  block.group_scales[0] = 63;
  block.group_scales[4] = 61;
  block.codes[0] = 0x0D;
  std::array<float, 256> out{};
  dequantize(block, out);
  const volatile float scale = to_float(block.scale) * 63.0F;
  const volatile float min = to_float(block.min_scale) * 61.0F;
  const volatile float product = scale * 13.0F;
  EXPECT_EQ(out[0], product - min);
}

TEST(Dequantize, TakesTheScaleOfIQ1_MFromFourTopNibbles) {
  IQ1_M block{};
  const uint16_t scale = to_half(1.5F).bits;
  for (size_t k = 0; k < 4; ++k) {
    block.group_scales[k] = static_cast<uint16_t>(((scale >> (4 * k)) & 0xF) << 12);
  }
  block.high_bits[0] = 0x08;  // row 0 is moved down, row 1 up
  std::array<float, 256> out{};
  dequantize(block, out);
  const float first = static_cast<int8_t>(kIq1Grid.rows[0] & 0xFF);
  EXPECT_EQ(out[0], 1.5F * (first - 0.125F));
  EXPECT_EQ(out[8], 1.5F * (first + 0.125F));
}

template <size_t kRows>
void expect_levels(const uint64_t (&rows)[kRows], std::initializer_list<int> levels) {
  for (const uint64_t row : rows) {
    for (size_t i = 0; i < 8; ++i) {
      const auto value = static_cast<int8_t>(row >> (8 * i));
      EXPECT_NE(std::ranges::find(levels, static_cast<int>(value)), levels.end());
    }
  }
  std::vector<uint64_t> sorted(std::begin(rows), std::end(rows));
  std::ranges::sort(sorted);
  EXPECT_TRUE(std::ranges::adjacent_find(sorted) == sorted.end()) << "two rows are the same";
}

TEST(IqGrids, HaveDistinctRowsOfTheirLevels) {
  expect_levels(kIq1Grid.rows, {-1, 0, 1});
  expect_levels(kIq2XxsGrid.rows, {8, 25, 43});
  expect_levels(kIq2XsGrid.rows, {8, 25, 43});
  expect_levels(kIq2SGrid.rows, {8, 25, 43});
}

TEST(DequantizeDeathTest, RefusesSizesThatDoNotMatch) {
  const std::array<std::byte, 18> bytes{};
  std::array<float, 64> out{};
  EXPECT_DEATH(dequantize(Layout::kQ4_0, bytes, out), "needed");
  EXPECT_DEATH(dequantize(Layout::kQ4_0, bytes, std::span(out).first(31)), "needed");
}

}  // namespace
}  // namespace ingot

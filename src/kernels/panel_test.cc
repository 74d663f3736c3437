// SPDX-License-Identifier: Apache-2.0
#include "kernels/panel.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/panel_codes.h"
#include "kernels/panel_grid_codes.h"
#include "kernels/test_random.h"

namespace ingot {
namespace {

// Whatever the planes, each code comes back from where the packer put it.
template <class Block, class Codes>
void expect_codes(Random& random, int64_t columns) {
  constexpr Layout kLayout = Block::kLayout;
  SCOPED_TRACE(info(kLayout).name);
  const int64_t rows = 19;
  const int64_t cols = 3 * columns;
  const std::vector<std::byte> weights = random.weights(kLayout, rows * cols);
  const int64_t row_bytes = static_cast<int64_t>(weights.size()) / rows;
  const Packing packing = packing_of(kLayout, cols);
  const PackingInfo& facts = info(packing);
  const PanelShape shape = panel_shape(packing, cols);
  std::vector<std::byte> packed(static_cast<size_t>(2 * shape.panel));
  std::vector<std::byte> packed_fast(packed.size());
  const PanelSource source{kLayout, weights.data(), row_bytes, rows, cols};
  pack_panels(source, packing, 0, 2, packed.data());
  choose_packer(TargetSet::of_this_machine())(source, packing, 0, 2, packed_fast.data());
  ASSERT_EQ(packed, packed_fast);
  for (int64_t row = 0; row < 32; ++row) {
    const std::byte* panel = packed.data() + row / 16 * shape.panel;
    for (int64_t col = 0; col < cols; ++col) {
      const int code = panel_code(panel + shape.run_at(col / 32), facts.bits, row % 16, col % 32);
      if (row >= rows) {
        ASSERT_EQ(code, 0) << "rows past the last are zeros";
        continue;
      }
      Block block;
      std::memcpy(
          &block,
          weights.data() + row * row_bytes + col / columns * static_cast<int64_t>(sizeof(Block)),
          sizeof(block));
      Codes codes;
      if constexpr (requires { read_codes(block, codes); }) {
        read_codes(block, codes);
        ASSERT_EQ(code, codes.codes[col % columns]) << row << ", " << col;
      } else {
        read_codes(block, col % columns / 32, codes);
        ASSERT_EQ(code, codes.codes[col % 32]) << row << ", " << col;
      }
    }
  }
}

TEST(Panel, EveryCodeIsWhereItsPlanesSay) {
  Random random(test_seed());
  expect_codes<Q4_0, GroupCodes>(random, 32);
  expect_codes<Q4_1, GroupCodes>(random, 32);
  expect_codes<Q5_0, GroupCodes>(random, 32);
  expect_codes<Q5_1, GroupCodes>(random, 32);
  expect_codes<Q8_0, GroupCodes>(random, 32);
  expect_codes<IQ4_NL, GroupCodes>(random, 32);
  expect_codes<MXFP4, GroupCodes>(random, 32);
  expect_codes<Q2_K, BlockCodes>(random, 256);
  expect_codes<Q3_K, BlockCodes>(random, 256);
  expect_codes<Q4_K, BlockCodes>(random, 256);
  expect_codes<Q5_K, BlockCodes>(random, 256);
  expect_codes<Q6_K, BlockCodes>(random, 256);
  expect_codes<IQ4_XS, BlockCodes>(random, 256);
  expect_codes<Q1_0, GroupCodes>(random, 128);
  expect_codes<Q2_0, GroupCodes>(random, 64);
  expect_codes<NVFP4, GroupCodes>(random, 64);
  expect_codes<TQ1_0, BlockCodes>(random, 256);
  expect_codes<TQ2_0, BlockCodes>(random, 256);
  expect_codes<IQ1_S, BlockCodes>(random, 256);
  expect_codes<IQ1_M, BlockCodes>(random, 256);
  expect_codes<IQ2_XXS, BlockCodes>(random, 256);
  expect_codes<IQ2_XS, BlockCodes>(random, 256);
  expect_codes<IQ2_S, BlockCodes>(random, 256);
  expect_codes<IQ3_XXS, BlockCodes>(random, 256);
  expect_codes<IQ3_S, BlockCodes>(random, 256);
}

// A packed model is hardly larger than its file: at most 5 % for wide enough rows. Layouts whose
// file has only the index of a table's entry, or less than two bits a weight, grow more.
TEST(Panel, CostsLittleMoreThanTheFile) {
  const auto most = [](Layout layout) {
    switch (layout) {
      case Layout::kIQ1_S:
        return 1.45;
      case Layout::kIQ1_M:
        return 1.93;
      case Layout::kIQ2_XXS:
        return 1.64;
      case Layout::kIQ2_XS:
        return 1.46;
      case Layout::kIQ2_S:
        return 1.32;
      case Layout::kIQ3_XXS:
        return 1.39;
      case Layout::kIQ3_S:
        return 1.24;
      case Layout::kTQ1_0:
        return 1.26;
      case Layout::kQ1_0:
        return 1.34;
      case Layout::kQ2_0:
        return 1.12;
      default:
        return 1.055;
    }
  };
  for (size_t i = 0; i < kLayoutCount; ++i) {
    const auto layout = static_cast<Layout>(i);
    const Packing packing = packing_of(layout, 2048);
    if (packing == Packing::kRows) continue;
    const auto file =
        static_cast<double>(16 * storage_bytes(layout, CheckedSize(2048)).value_or(0));
    EXPECT_LE(static_cast<double>(panel_shape(packing, 2048).panel), file * most(layout))
        << info(layout).name;
    EXPECT_EQ(outgrows_file(layout), most(layout) > 1.1) << info(layout).name;
  }
}

// A row of 512 floats of 16 bits, packed as words.
struct WordsRow {
  WordsRow(Layout layout, const std::vector<uint16_t>& row)
      : bytes(static_cast<size_t>(panel_shape(Packing::kF16Words, 512).panel), std::byte{0xFF}) {
    const PanelSource source{layout, reinterpret_cast<const std::byte*>(row.data()), 1024, 1, 512};
    pack_panels(source, Packing::kF16Words, 0, 1, bytes.data());
  }
  int exponent(int64_t group) const {
    return std::to_integer<int>(block(group * 128)[group % 2 * kPanelRows]);
  }
  int code(int64_t col) const {
    int16_t value;
    std::memcpy(&value, block(col) + kLineBytes + col % 256 / 2 * kLineBytes + col % 2 * 2, 2);
    return value;
  }
  const std::byte* block(int64_t col) const {
    return bytes.data() + col / 256 * panel_shape(Packing::kF16Words, 512).block;
  }
  std::vector<std::byte> bytes;
};

// Of 128 columns each: powers of two, one weight among zeros, the smallest, and an infinity.
TEST(Panel, HalvesAreWholeNumbersOfTheirLargest) {
  constexpr uint16_t kOne = 0x3C00;
  constexpr uint16_t kInfinity = 0x7C00;
  std::vector<uint16_t> row(512);
  row[0] = kOne;
  row[1] = 0xBBFF;             // just above -1
  row[2] = kOne - 13 * 0x400;  // 2^-13, half of the last place
  row[3] = kOne - 14 * 0x400;
  row[128] = 0x7BFF;  // the largest half
  row[256] = 1;
  row[385] = kInfinity;
  const WordsRow packed(Layout::kF16, row);
  EXPECT_EQ(packed.exponent(0), 127 - 12);
  EXPECT_EQ(packed.code(0), 4096);
  EXPECT_EQ(packed.code(1), -4094);
  EXPECT_EQ(packed.code(2), 1);
  EXPECT_EQ(packed.code(3), 0);
  EXPECT_EQ(packed.exponent(1), 127 + 15 - 12);
  EXPECT_EQ(packed.code(128), 8188);
  EXPECT_EQ(packed.exponent(2), 127 - 26);
  EXPECT_EQ(packed.code(256), 4);
  EXPECT_EQ(packed.exponent(3), 255);
  EXPECT_EQ(packed.code(385), 0);
}

// The same of bf16, whose exponents go further down than those of the scales.
TEST(Panel, BFloatsAreWholeNumbersOfTheirLargest) {
  constexpr uint16_t kOne = 0x3F80;
  std::vector<uint16_t> row(512);
  row[0] = 0xBFFF;             // -(2 - 2^-7)
  row[1] = kOne - 5 * 0x80;    // 2^-5, exact
  row[2] = kOne - 13 * 0x80;   // half of the last place
  row[3] = kOne - 100 * 0x80;  // nothing
  row[128] = 0x7F7F;           // the largest
  row[256] = 0x0640;           // 1.5 * 2^-115
  row[385] = 0x7FC0;           // no number
  const WordsRow packed(Layout::kBF16, row);
  EXPECT_EQ(packed.exponent(0), 127 - 12);
  EXPECT_EQ(packed.code(0), -8160);
  EXPECT_EQ(packed.code(1), 128);
  EXPECT_EQ(packed.code(2), 1);
  EXPECT_EQ(packed.code(3), 0);
  EXPECT_EQ(packed.exponent(1), 254 - 12);
  EXPECT_EQ(packed.code(128), 8160);
  EXPECT_EQ(packed.exponent(2), 0);
  EXPECT_EQ(packed.code(256), 0);
  EXPECT_EQ(packed.exponent(3), 255);
  EXPECT_EQ(packed.code(385), 0);
}

TEST(Panel, NarrowRowsStayAsTheyAre) {
  EXPECT_EQ(packing_of(Layout::kQ4_K, 2048), Packing::kBlocks4Min);
  EXPECT_EQ(packing_of(Layout::kF16, 7), Packing::kF16);
  EXPECT_EQ(packing_of(Layout::kQ8_K, 2048), Packing::kRows);
}

}  // namespace
}  // namespace ingot

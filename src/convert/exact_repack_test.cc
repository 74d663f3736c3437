// SPDX-License-Identifier: Apache-2.0
#include "convert/exact_repack.h"

#include <gtest/gtest.h>

#include <random>

#include "base/float_types.h"
#include "blocks/layout.h"

namespace ingot {
namespace {

struct Made {
  std::vector<std::byte> codes;
  QuantTensor tensor;
};

Made random_affine(int bits, int64_t rows, int64_t cols, int64_t group, int low_zero,
                   int high_zero) {
  std::mt19937 random(static_cast<unsigned>(bits * 100 + low_zero));
  Made made;
  made.codes.resize(static_cast<size_t>(rows * cols * bits / 8));
  for (std::byte& byte : made.codes)
    byte = static_cast<std::byte>(random());
  made.tensor.scheme = {CodeMeaning::kAffine, CodeOrder::kRows, bits, group};
  made.tensor.rows = rows;
  made.tensor.cols = cols;
  made.tensor.codes = made.codes;
  std::uniform_int_distribution<int> zero(low_zero, high_zero);
  std::uniform_real_distribution<float> scale(0.001F, 0.1F);
  for (int64_t i = 0; i < rows * made.tensor.groups(); ++i) {
    made.tensor.zeros.push_back(static_cast<uint8_t>(zero(random)));
    made.tensor.scales.push_back(to_float(to_half(scale(random))));
  }
  return made;
}

void expect_equal(const QuantTensor& tensor, Layout layout) {
  const auto cols = static_cast<size_t>(tensor.cols);
  std::vector<float> wanted(cols);
  std::vector<float> found(cols);
  std::vector<std::byte> packed(*storage_bytes(layout, cols).value());
  for (int64_t row = 0; row < tensor.matrix_rows(); ++row) {
    dequantize_row(tensor, row, wanted);
    repack_row(tensor, row, layout, packed);
    dequantize(layout, packed, found);
    for (size_t i = 0; i < cols; ++i)
      ASSERT_EQ(found[i], wanted[i]) << "row " << row << ", column " << i;
  }
}

TEST(ExactRepack, TakesTheSmallestTypeThatHoldsEveryValue) {
  struct Case {
    int bits, low, high;
    Layout layout;
  };
  for (const Case& one : {Case{4, 8, 8, Layout::kQ4_0}, Case{4, 0, 15, Layout::kQ5_0},
                          Case{2, 0, 3, Layout::kQ4_0}, Case{8, 128, 128, Layout::kQ8_0}}) {
    Made made = random_affine(one.bits, 8, 256, 64, one.low, one.high);
    ASSERT_EQ(exact_layout(made.tensor), one.layout) << one.bits;
    expect_equal(made.tensor, one.layout);
    made.tensor.row_order = {7, 0, 3};
    expect_equal(made.tensor, one.layout);
  }
}

TEST(ExactRepack, PowersOfTwoWithFourBitFloatsAreMxfp4) {
  Made made = random_affine(4, 4, 128, 32, 0, 0);
  made.tensor.scheme.meaning = CodeMeaning::kE2m1;
  made.tensor.zeros.clear();
  for (size_t i = 0; i < made.tensor.scales.size(); ++i)
    made.tensor.scales[i] = std::ldexp(1.0F, static_cast<int>(i % 20) - 10);
  ASSERT_EQ(exact_layout(made.tensor), Layout::kMXFP4);
  expect_equal(made.tensor, Layout::kMXFP4);
  made.tensor.scales[3] = 0.3F;
  EXPECT_EQ(exact_layout(made.tensor), std::nullopt);
}

TEST(ExactRepack, RefusesWhatNoBlockHolds) {
  Made made = random_affine(4, 8, 256, 64, 8, 8);
  made.tensor.scales[1] = 0.1F;  // no half
  EXPECT_EQ(exact_layout(made.tensor), std::nullopt);
  made = random_affine(4, 8, 256, 48, 8, 8);  // groups end inside blocks
  EXPECT_EQ(exact_layout(made.tensor), std::nullopt);
  made = random_affine(4, 8, 256, 64, 8, 8);
  made.tensor.column_order = std::make_shared<const ColumnOrder>(256);
  EXPECT_EQ(exact_layout(made.tensor), std::nullopt);
  made = random_affine(8, 8, 256, 64, 0, 255);
  EXPECT_EQ(exact_layout(made.tensor), std::nullopt);
}

TEST(ExactRepack, ACommonTypeHoldsBoth) {
  EXPECT_EQ(common_layout(Layout::kQ4_0, Layout::kQ5_0), Layout::kQ5_0);
  EXPECT_EQ(common_layout(Layout::kQ8_0, Layout::kQ4_0), Layout::kQ8_0);
  EXPECT_EQ(common_layout(Layout::kQ4_0, std::nullopt), std::nullopt);
  EXPECT_EQ(common_layout(Layout::kMXFP4, Layout::kQ4_0), std::nullopt);
  Made made = random_affine(4, 4, 64, 32, 8, 8);
  expect_equal(made.tensor, Layout::kQ5_0);
  expect_equal(made.tensor, Layout::kQ8_0);
}

}  // namespace
}  // namespace ingot

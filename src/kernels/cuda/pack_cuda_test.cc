// SPDX-License-Identifier: Apache-2.0
// Panels that the GPU packs against those of the processor: every byte of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "kernels/cuda/cuda_upload.h"
#include "kernels/cuda/cuda_weight.h"
#include "kernels/cuda/test_device.h"
#include "kernels/panel.h"
#include "kernels/test_quant.h"
#include "kernels/test_random.h"

namespace ingot {
namespace {

constexpr Packing kQuantPackings[] = {
    Packing::kGroups2Zero, Packing::kGroups3Zero, Packing::kGroups4Zero, Packing::kGroups8Zero,
    Packing::kGroups4,     Packing::kGroups8,     Packing::kGroupsFp4,   Packing::kGroupsNvfp4,
    Packing::kGroupsNf4,   Packing::kGroupsBnbFp4};

int64_t row_bytes_of(Layout layout, int64_t cols) {
  return static_cast<int64_t>(
      storage_bytes(layout, CheckedSize(static_cast<uint64_t>(cols))).value_or(0));
}

class PackCuda : public ::testing::Test {
 protected:
  void SetUp() override { INGOT_NEEDS_DEVICE(); }
  void TearDown() override {
    if (test_device() != nullptr) test_device()->end_placing();
  }

  using Placed = Result<std::shared_ptr<const DeviceWeight>>;

  Placed place(const PanelSource& source) {
    if (source.quant != nullptr) return test_device()->place(*source.quant, {}, {}, exec_);
    TensorView view;
    view.layout = source.layout;
    view.shape = {static_cast<uint64_t>(source.rows), static_cast<uint64_t>(source.cols)};
    view.bytes = {source.weights, static_cast<size_t>(source.rows * source.row_bytes)};
    return test_device()->place(view, {}, {}, exec_);
  }

  void expect_same(const PanelSource& source, Packing packing) {
    const Placed placed = place(source);
    ASSERT_TRUE(placed.is_ok()) << placed.status().message();
    const auto& weight = static_cast<const cuda::Weight&>(**placed);
    ASSERT_TRUE(weight.facts.is_panels);
    ASSERT_EQ(weight.facts.packing, packing);
    const int64_t panels = (source.rows + kPanelRows - 1) / kPanelRows;
    const PanelShape shape = panel_shape(packing, source.cols);
    std::vector<std::byte> expected(static_cast<size_t>(panels * shape.panel));
    choose_packer(TargetSet::of_this_machine())(source, packing, 0, panels, expected.data());
    ASSERT_EQ(weight.data.size(), expected.size());
    std::vector<std::byte> found(expected.size(), std::byte{0xA5});
    const Status status = test_device()->read(weight.data.data(), found);
    ASSERT_TRUE(status.is_ok()) << status.message();
    const auto [own, other] = std::ranges::mismatch(found, expected);
    if (own == found.end()) return;
    const int64_t at = own - found.begin();
    FAIL() << "panel " << at / shape.panel << ", byte " << at % shape.panel << " (scales "
           << shape.scales << ", run " << shape.run << ", block " << shape.block
           << "): " << std::to_integer<int>(*own) << " where " << std::to_integer<int>(*other)
           << " is right";
  }

  // Bytes of any value: packing looks at none of them.
  std::vector<std::byte> noise(int64_t count) {
    std::vector<uint64_t> words(static_cast<size_t>(count / 8 + 1));
    std::ranges::generate(words, engine_);
    const auto bytes = std::as_bytes(std::span(words)).first(static_cast<size_t>(count));
    return {bytes.begin(), bytes.end()};
  }

  ThreadPool pool_{4};
  Exec exec_{pool_};
  Random random_{test_seed()};
  std::mt19937_64 engine_{test_seed()};
};

TEST_F(PackCuda, BlocksOfEveryLayout) {
  int layouts = 0;
  for (size_t i = 0; i < kLayoutCount; ++i) {
    const auto layout = static_cast<Layout>(i);
    const int64_t unit = info(layout).block_elements;
    if (unit == 1 || packing_of(layout, 256 * unit) == Packing::kRows) continue;
    ++layouts;
    for (const int64_t blocks : {1, 3, 9, 35}) {  // blocks of 256 columns that are filled and not
      const int64_t cols = blocks * unit;
      const Packing packing = packing_of(layout, cols);
      for (const int64_t rows : {1, 16, 19, 330}) {
        SCOPED_TRACE(fmt::format("{} {}x{}", info(layout).name, rows, cols));
        const int64_t row_bytes = row_bytes_of(layout, cols);
        const std::vector<std::byte> weights = noise(rows * row_bytes);
        expect_same({layout, weights.data(), row_bytes, rows, cols}, packing);
      }
    }
  }
  EXPECT_EQ(layouts, 25);
}

// Buffers take turns, and pieces lie one behind another.
TEST_F(PackCuda, WeightsOfSeveralPieces) {
  constexpr int64_t kCols = 4096;
  for (const Layout layout : {Layout::kQ4_0, Layout::kQ6_K}) {
    SCOPED_TRACE(info(layout).name);
    const int64_t row_bytes = row_bytes_of(layout, kCols);
    const int64_t rows = 5 * static_cast<int64_t>(cuda::Upload::kPieceBytes) / (2 * row_bytes) + 5;
    const std::vector<std::byte> weights = noise(rows * row_bytes);
    expect_same({layout, weights.data(), row_bytes, rows, kCols}, packing_of(layout, kCols));
  }
}

std::vector<CodeOrder> orders_of(int bits) {
  std::vector<CodeOrder> orders = {CodeOrder::kRows, CodeOrder::kColumns};
  if (bits == 8) orders.push_back(CodeOrder::kRowsSigned);
  if (bits == 4) {
    orders.push_back(CodeOrder::kRowsHighFirst);
    orders.push_back(CodeOrder::kAwq);
  }
  return orders;
}

// Scales such as the packing has, down to the smallest it can say.
float random_scale(Random& random, Packing packing, float tensor_scale) {
  switch (info(packing).form) {
    case ScaleForm::kHalves:
      return to_float(to_half(std::exp2(random.uniform(-23, 0))));
    case ScaleForm::kPowers:
      return std::exp2(static_cast<float>(random.whole(-127, 30)));
    case ScaleForm::kPairs:
      return to_float(Float8E4M3{static_cast<uint8_t>(random.whole(0, 0x7E))}) * tensor_scale;
    default:
      return random.uniform(0.001F, 0.1F);
  }
}

RandomQuant quant_of(Random& random, Packing packing, CodeOrder order, int64_t rows, int64_t cols) {
  RandomQuant quant = random_quant(random, packing, rows, cols);
  QuantTensor& tensor = quant.tensor;
  tensor.scheme.order = order;
  // Several groups in a row: with one alone W8A8 stays rows.
  tensor.scheme.group_columns = packing == Packing::kGroupsNvfp4 ? 16 : 32 * random.whole(1, 2);
  if (packing == Packing::kGroupsFp4 || packing == Packing::kGroupsNvfp4)
    tensor.scheme.meaning = CodeMeaning::kE2m1;
  if (packing == Packing::kGroupsNvfp4) tensor.tensor_scale = 0.37F;
  tensor.scales.resize(static_cast<size_t>(tensor.rows * tensor.groups()));
  for (float& scale : tensor.scales)
    scale = random_scale(random, packing, tensor.tensor_scale);
  tensor.zeros.clear();
  if (tensor.scheme.meaning == CodeMeaning::kAffine) {
    const int64_t codes = int64_t{1} << tensor.scheme.bits;
    const bool is_plain = info(packing).form == ScaleForm::kHalves;
    for (size_t i = 0; i < tensor.scales.size(); ++i)
      tensor.zeros.push_back(
          static_cast<uint8_t>(is_plain ? codes / 2 : random.whole(0, codes - 1)));
  }
  return quant;
}

TEST_F(PackCuda, CodesInEveryOrder) {
  for (const Packing packing : kQuantPackings) {
    for (const CodeOrder order : orders_of(info(packing).bits)) {
      for (const bool sorts_columns : {false, true}) {
        for (const bool picks_rows : {false, true}) {
          for (const int64_t cols : {128, 672}) {
            const int64_t wanted = random_.whole(17, 340);
            RandomQuant quant = quant_of(random_, packing, order, wanted, cols);
            QuantTensor& tensor = quant.tensor;
            if (!picks_rows) tensor.row_order.clear();
            if (sorts_columns) {
              auto columns = std::make_shared<ColumnOrder>(static_cast<size_t>(cols));
              std::iota(columns->begin(), columns->end(), 0);
              std::ranges::shuffle(*columns, engine_);
              tensor.column_order = columns;
            }
            SCOPED_TRACE(fmt::format("{}, order {}, {}x{}, columns sorted {}, rows picked {}",
                                     info(packing).name, static_cast<int>(order),
                                     tensor.matrix_rows(), cols, sorts_columns, picks_rows));
            expect_same({.layout = Layout::kU8,
                         .weights = nullptr,
                         .row_bytes = 0,
                         .rows = tensor.matrix_rows(),
                         .cols = cols,
                         .quant = &tensor},
                        packing);
          }
        }
      }
    }
  }
}

TEST_F(PackCuda, CodesOfSeveralPieces) {
  RandomQuant quant = quant_of(random_, Packing::kGroups4Zero, CodeOrder::kColumns, 16, 4096);
  QuantTensor& tensor = quant.tensor;
  tensor.row_order.clear();
  tensor.scheme.group_columns = 128;
  tensor.rows = 5 * static_cast<int64_t>(cuda::Upload::kPieceBytes) / tensor.cols + 8;
  quant.codes = noise(tensor.rows * tensor.cols / 2);
  tensor.codes = quant.codes;
  const auto count = static_cast<size_t>(tensor.rows * tensor.groups());
  tensor.scales.clear();
  for (size_t i = 0; i < count; ++i)
    tensor.scales.push_back(random_.uniform(0.001F, 0.1F));
  tensor.zeros.assign(count, 7);
  expect_same({.layout = Layout::kU8,
               .weights = nullptr,
               .row_bytes = 0,
               .rows = tensor.rows,
               .cols = tensor.cols,
               .quant = &tensor},
              Packing::kGroups4Zero);
}

// And what is placed afterwards is as good.
TEST_F(PackCuda, WhatItTookMeanwhileIsGivenBack) {
  const int64_t row_bytes = row_bytes_of(Layout::kQ4_K, 256);
  const std::vector<std::byte> weights = noise(16 * row_bytes);
  const PanelSource source{Layout::kQ4_K, weights.data(), row_bytes, 16, 256};
  const Placed placed = place(source);
  ASSERT_TRUE(placed.is_ok()) << placed.status().message();
  const uint64_t before = test_device()->free_bytes();
  test_device()->end_placing();
  EXPECT_GE(test_device()->free_bytes(), before + cuda::Upload::kPieceBytes);
  expect_same(source, Packing::kBlocks4Min);
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// Weights in rows by few tokens: what the processor gives, and the same bits however many tokens
// and weights go together.
#include <gtest/gtest.h>

#include "kernels/cuda/test_rows.h"

namespace ingot {
namespace {

class LinearRowsCuda : public RowsOnGpu {};

class LinearRowsByKindCuda : public RowsOnGpu, public ::testing::WithParamInterface<RowsCase> {};

// Rows that fill no tile, columns that fill no chunk, more tiles than are under way at once, and so
// many that most are given out as they come.
TEST_P(LinearRowsByKindCuda, AnyNumberOfTokensGivesTheSameBits) {
  const auto& [rows, cols, wanted_kind] = GetParam();
  constexpr int64_t kTokens = 8;
  const std::vector<float> x = random_.normals(kTokens * cols);
  const Kind kind = make(wanted_kind, rows, cols);
  ASSERT_NE(kind.placed, nullptr);
  const std::vector<float> all = on_gpu(kind.placed, x, kTokens);
  EXPECT_LE(distance(all, kind.expected(x, kTokens)), 1e-3);
  for (const int64_t tokens : {1, 3, 7})
    ASSERT_EQ(on_gpu(kind.placed, first_rows(x, tokens, cols), tokens),
              first_rows(all, tokens, rows))
        << "by " << tokens;
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, LinearRowsByKindCuda,
    ::testing::ValuesIn(
        with_all_kinds({{5, 192}, {50, 320}, {300, 1088}, {131, 4160}, {5003, 704}, {30011, 256}})),
    name_of_case);

// The library takes none of these rows, so that our kernel has them in this mode on every device.
TEST_F(LinearRowsCuda, MoreTokensThanATileGiveTheSameBits) {
  ops_->set_batch_invariant(true);
  constexpr int64_t kTokens = 32;
  constexpr int64_t kCols = 1088;
  const std::vector<float> x = random_.normals(kTokens * kCols);
  using enum Fp8Scales;
  for (const int64_t rows : {50, 5003}) {
    const InputQuant of_tokens{.kind = InputKind::kE4m3};
    const InputQuant of_blocks{.kind = InputKind::kE4m3, .block = 128};
    for (const auto& [scales, input] :
         {std::pair{kRows, of_tokens}, std::pair{kRows, of_blocks}, std::pair{kBlocks, of_tokens},
          std::pair{kBlocks, of_blocks}}) {
      const Weights weights = fp8_weights(random_, rows, kCols, scales, input);
      const Placed placed = place(weights);
      ASSERT_NE(placed, nullptr);
      const std::vector<float> all = on_gpu(placed, x, kTokens);
      EXPECT_LE(distance(all, expected(weights, x, kTokens)), 1e-3) << rows;
      for (const int64_t tokens : {1, 8, 9, 17})
        ASSERT_EQ(on_gpu(placed, first_rows(x, tokens, kCols), tokens),
                  first_rows(all, tokens, rows))
            << rows << " by " << tokens;
    }
  }
}

// Queries, keys and values in one launch.
TEST_F(LinearRowsCuda, WeightsThatGoTogetherGiveWhatEachGives) {
  constexpr int64_t kCols = 576;
  for (const int64_t tokens : {3, 40, 150}) {
    const std::vector<float> x = random_.normals(tokens * kCols);
    const std::array<std::vector<Case>, 3> weights{cases(37, x, tokens), cases(16, x, tokens),
                                                   cases(130, x, tokens)};
    for (size_t kind = 0; kind < weights[0].size(); ++kind) {
      std::array<Linear, 3> linears;
      std::array<LinearOutput, 3> outputs;
      ops_->begin({});
      float* own_x = ops_->buffer(Buffer::kNormed, std::ssize(x));
      ops_->write(own_x, x);
      constexpr std::array kBuffers{Buffer::kGate, Buffer::kUp, Buffer::kBranch};
      for (size_t i = 0; i < 3; ++i) {
        linears[i] = Linear::placed(weights[i][kind].placed);
        float* const y = ops_->buffer(kBuffers[i], tokens * linears[i].rows());
        ops_->write(y, poisoned(tokens * linears[i].rows()));
        outputs[i] = {&linears[i], y, linears[i].rows()};
      }
      ops_->set_input(InputSlot::kBranch, own_x, tokens, kCols);
      ops_->run_linears(InputSlot::kBranch, outputs);
      std::array<std::vector<float>, 3> together;
      for (size_t i = 0; i < 3; ++i) {
        together[i].resize(static_cast<size_t>(tokens * linears[i].rows()));
        const Status status = ops_->read(outputs[i].y, together[i]);
        ASSERT_TRUE(status.is_ok()) << status.message();
      }
      for (size_t i = 0; i < 3; ++i)
        EXPECT_EQ(together[i], on_gpu(weights[i][kind].placed, x, tokens, 3))
            << weights[i][kind].name;
    }
  }
}

// An activation that is packed as it is made, for our kernel and for the library, gives what its
// numbers give when they are read from memory.
TEST_F(LinearRowsCuda, WhatMakesAnInputPacksItToo) {
  constexpr int64_t kOutputs = 64;
  constexpr int64_t kCols = 1152;
  using enum Fp8Scales;
  for (const int64_t tokens : {1, 9, 40}) {
    const std::vector<float> gate = random_.normals(tokens * kCols);
    const std::vector<float> up = random_.normals(tokens * kCols);
    for (const Weights& weights :
         {fp8_weights(random_, kOutputs, kCols, kRows, {.kind = InputKind::kE4m3}),
          fp8_weights(random_, kOutputs, kCols, kBlocks, {.kind = InputKind::kE4m3, .block = 128}),
          int8_weights(random_, kOutputs, kCols, CodeOrder::kRowsSigned,
                       {.kind = InputKind::kInt8, .is_symmetric = false})}) {
      const Placed placed = place(weights);
      ASSERT_NE(placed, nullptr);
      const Linear linear = Linear::placed(placed);
      ops_->begin({});
      float* own_gate = ops_->buffer(Buffer::kGate, tokens * kCols);
      float* own_up = ops_->buffer(Buffer::kUp, tokens * kCols);
      float* y = ops_->buffer(Buffer::kBranch, tokens * kOutputs);
      ops_->write(own_gate, gate);
      ops_->write(own_up, up);
      ops_->activate(Activation::kSilu, own_gate, own_up, own_gate, tokens * kCols);
      ops_->set_input(InputSlot::kBranch, own_gate, tokens, kCols);
      const std::array outputs{LinearOutput{&linear, y, kOutputs}};
      ops_->run_linears(InputSlot::kBranch, outputs);
      std::vector<float> fused(static_cast<size_t>(tokens * kOutputs));
      std::vector<float> made(static_cast<size_t>(tokens * kCols));
      ASSERT_TRUE(ops_->read(y, fused).is_ok());
      ASSERT_TRUE(ops_->read(own_gate, made).is_ok());
      EXPECT_EQ(fused, on_gpu(placed, made, tokens)) << tokens;
    }
  }
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// Weights in rows by few tokens: what the processor gives, and the same bits however many tokens
// and weights go together.
#include <gtest/gtest.h>

#include "kernels/cuda/test_codes.h"
#include "kernels/test_random.h"

namespace ingot {
namespace {

using Placed = std::shared_ptr<const DeviceWeight>;

class LinearRowsCuda : public CodesOnGpu {
 protected:
  // Weights of every kind of rows, [rows, cols]: what is placed, and what it gives for x.
  struct Case {
    std::string name;
    Placed placed;
    std::vector<float> wanted;
  };

  Case halves(Layout layout, int64_t rows, const std::vector<float>& x, int64_t tokens) {
    const int64_t cols = std::ssize(x) / tokens;
    const std::vector<std::byte> bytes = random_.weights(layout, rows * cols);
    const std::vector<float> bias = random_.normals(rows);
    const TensorView view{layout, Shape{static_cast<uint64_t>(rows), static_cast<uint64_t>(cols)},
                          bytes};
    // Inputs are rounded to the weights' width first.
    std::vector<float> rounded = x;
    for (float& value : rounded) {
      value = layout == Layout::kF16 ? to_float(to_half(value)) : to_float(to_bfloat16(value));
    }
    WeightMemory memory;
    const Linear linear = *Linear::bind(view, bias, TargetSet::scalar_only(), memory, exec_);
    return {std::string(info(layout).name), *test_device()->place(view, bias, {}, exec_),
            on_cpu(linear, rounded, tokens)};
  }

  std::vector<Case> cases(int64_t rows, const std::vector<float>& x, int64_t tokens) {
    const int64_t cols = std::ssize(x) / tokens;
    std::vector<Case> result{halves(Layout::kF16, rows, x, tokens),
                             halves(Layout::kBF16, rows, x, tokens)};
    const auto add = [&](const char* name, const Weights& weights) {
      result.push_back({name, place(weights), expected(weights, x, tokens)});
    };
    using enum Fp8Scales;
    const InputQuant of_tokens{.kind = InputKind::kE4m3};
    const InputQuant of_blocks{.kind = InputKind::kE4m3, .block = 128};
    add("fp8 by rows", fp8_weights(random_, rows, cols, kRows, of_tokens));
    add("fp8 by blocks", fp8_weights(random_, rows, cols, kBlocks, of_blocks));
    add("fp8 by rows, inputs by blocks", fp8_weights(random_, rows, cols, kRows, of_blocks));
    add("fp8 by blocks, inputs by tokens", fp8_weights(random_, rows, cols, kBlocks, of_tokens));
    add("fp8 by the tensor, given scale",
        fp8_weights(random_, rows, cols, kTensor, {.kind = InputKind::kE4m3, .scale = 0.01F}));
    // Inputs as they are become f16.
    std::vector<float> rounded = x;
    for (float& value : rounded)
      value = to_float(to_half(value));
    for (const Fp8Scales scales : {kRows, kBlocks}) {
      const Weights weights = fp8_weights(random_, rows, cols, scales, {});
      result.push_back({scales == kRows ? "fp8 by rows, inputs in f16" : "fp8 by blocks, in f16",
                        place(weights), expected(weights, rounded, tokens)});
    }
    add("int8",
        int8_weights(random_, rows, cols, CodeOrder::kRowsSigned, {.kind = InputKind::kInt8}));
    add("int8 with zeros", int8_weights(random_, rows, cols, CodeOrder::kRowsSigned,
                                        {.kind = InputKind::kInt8, .is_symmetric = false}));
    return result;
  }

  Random random_{test_seed()};
};

// Rows that fill no tile, columns that fill no chunk, and more tiles than are under way at once.
TEST_F(LinearRowsCuda, AnyNumberOfTokensGivesTheSameBits) {
  for (const auto& [rows, cols] : {std::pair{5, 192}, std::pair{50, 320}, std::pair{300, 1088},
                                   std::pair{131, 4160}, std::pair{5003, 704}}) {
    constexpr int64_t kTokens = 8;
    const std::vector<float> x = random_.normals(kTokens * cols);
    for (const Case& one : cases(rows, x, kTokens)) {
      ASSERT_NE(one.placed, nullptr);
      const std::vector<float> all = on_gpu(one.placed, x, kTokens);
      EXPECT_LE(distance(all, one.wanted), 1e-3) << one.name << " [" << rows << ", " << cols << "]";
      for (const int64_t tokens : {1, 3, 7}) {
        ASSERT_EQ(on_gpu(one.placed, first_rows(x, tokens, cols), tokens),
                  first_rows(all, tokens, rows))
            << one.name << " [" << rows << ", " << cols << "] by " << tokens;
      }
    }
  }
}

TEST_F(LinearRowsCuda, MoreTokensThanATileGiveTheSameBits) {
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
  constexpr int64_t kTokens = 3;
  constexpr int64_t kCols = 576;
  const std::vector<float> x = random_.normals(kTokens * kCols);
  const std::array<std::vector<Case>, 3> weights{cases(37, x, kTokens), cases(16, x, kTokens),
                                                 cases(130, x, kTokens)};
  for (size_t kind = 0; kind < weights[0].size(); ++kind) {
    std::array<Linear, 3> linears;
    std::array<LinearOutput, 3> outputs;
    ops_->begin({});
    float* own_x = ops_->buffer(Buffer::kNormed, std::ssize(x));
    ops_->write(own_x, x);
    constexpr std::array kBuffers{Buffer::kGate, Buffer::kUp, Buffer::kBranch};
    for (size_t i = 0; i < 3; ++i) {
      linears[i] = Linear::placed(weights[i][kind].placed);
      float* const y = ops_->buffer(kBuffers[i], kTokens * linears[i].rows());
      ops_->write(y, poisoned(kTokens * linears[i].rows()));
      outputs[i] = {&linears[i], y, linears[i].rows()};
    }
    ops_->set_input(InputSlot::kBranch, own_x, kTokens, kCols);
    ops_->run_linears(InputSlot::kBranch, outputs);
    std::array<std::vector<float>, 3> together;
    for (size_t i = 0; i < 3; ++i) {
      together[i].resize(static_cast<size_t>(kTokens * linears[i].rows()));
      const Status status = ops_->read(outputs[i].y, together[i]);
      ASSERT_TRUE(status.is_ok()) << status.message();
    }
    for (size_t i = 0; i < 3; ++i)
      EXPECT_EQ(together[i], on_gpu(weights[i][kind].placed, x, kTokens)) << weights[i][kind].name;
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

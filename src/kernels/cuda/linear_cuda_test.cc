// SPDX-License-Identifier: Apache-2.0
// Linear layers on the GPU against the processor's, of every layout and scheme.
#include <gtest/gtest.h>

#include "kernels/cuda/test_linear.h"
#include "kernels/test_quant.h"
#include "kernels/test_random.h"

namespace ingot {
namespace {

constexpr Layout kLayouts[] = {
    Layout::kF32,     Layout::kF16,    Layout::kBF16,  Layout::kQ4_0,    Layout::kQ4_1,
    Layout::kQ5_0,    Layout::kQ5_1,   Layout::kQ8_0,  Layout::kQ2_K,    Layout::kQ3_K,
    Layout::kQ4_K,    Layout::kQ5_K,   Layout::kQ6_K,  Layout::kIQ1_S,   Layout::kIQ1_M,
    Layout::kIQ2_XXS, Layout::kIQ2_XS, Layout::kIQ2_S, Layout::kIQ3_XXS, Layout::kIQ3_S,
    Layout::kIQ4_NL,  Layout::kIQ4_XS, Layout::kMXFP4, Layout::kNVFP4,   Layout::kTQ1_0,
    Layout::kTQ2_0,   Layout::kQ1_0,   Layout::kQ2_0,
};
constexpr Packing kQuantPackings[] = {
    Packing::kF8,          Packing::kGroups2Zero, Packing::kGroups3Zero,  Packing::kGroups4Zero,
    Packing::kGroups8Zero, Packing::kGroupsNf4,   Packing::kGroupsBnbFp4,
};

class LinearCuda : public LinearOnGpu {};

// Few tokens: the same codes and inputs as on the processor, summed in another order. More: numbers
// of 16 bits here, inputs of 8 bits there; see ManyTokens below.
double limit_for(int64_t tokens, bool is_exact) {
  return tokens > 8 || !is_exact ? 0.15 : 2e-4;
}

// Products with the weights' own numbers.
std::vector<float> exact(const std::vector<float>& weights, const std::vector<float>& x,
                         int64_t rows, int64_t tokens) {
  const int64_t cols = std::ssize(weights) / rows;
  std::vector<float> y(static_cast<size_t>(rows * tokens));
  for (int64_t i = 0; i < rows * tokens; ++i) {
    const float* row = weights.data() + i % rows * cols;
    const float* input = x.data() + i / rows * cols;
    double sum = 0;
    for (int64_t col = 0; col < cols; ++col)
      sum += static_cast<double>(row[col]) * static_cast<double>(input[col]);
    y[static_cast<size_t>(i)] = static_cast<float>(sum);
  }
  return y;
}

struct ManyShape {
  int64_t rows;
  int64_t cols;  // in units of 256
  int64_t tokens;
};
constexpr ManyShape kManyShapes[] = {{1, 1, 17},    {40, 3, 33},   {300, 9, 70},
                                     {130, 16, 31}, {2200, 2, 64}, {200, 19, 150}};
// Weights and inputs of f16; the worst of all outputs, against what is usual of its row: some rows
// are much larger than others. A wrong scale or minimum would be a hundred times that.
constexpr double kManyLimit = 1e-2;

// `a` and `b` [tokens, rows]. The largest distance of all rows.
double distance_by_rows(const std::vector<float>& a, const std::vector<float>& b, int64_t rows) {
  double largest = 0;
  const auto stride = static_cast<size_t>(rows);
  for (size_t row = 0; row < stride; ++row) {
    std::vector<float> own;
    std::vector<float> wanted;
    for (size_t at = row; at < a.size(); at += stride) {
      own.push_back(a[at]);
      wanted.push_back(b[at]);
    }
    largest = std::max(largest, distance(own, wanted));
  }
  return largest;
}

TEST_F(LinearCuda, EveryLayoutGivesWhatTheProcessorGives) {
  Random random(test_seed());
  for (const Layout layout : kLayouts) {
    const auto unit = static_cast<int64_t>(info(layout).block_elements);
    for (const int64_t tokens : {1, 3, 8, 9, 40, 70}) {
      const int64_t rows = random.whole(1, 100);
      const int64_t cols =
          unit == 1 ? 32 * random.whole(1, 20) : unit * random.whole(1, 2048 / unit);
      const std::vector<std::byte> bytes = random.weights(layout, rows * cols);
      const std::vector<float> bias = random.normals(rows);
      const std::vector<float> x = random.normals(tokens * cols);
      const TensorView view{layout, Shape{static_cast<uint64_t>(rows), static_cast<uint64_t>(cols)},
                            bytes};
      for (const bool rounds : {false, true}) {
        if (rounds && unit != 1) continue;
        WeightMemory memory;
        const Result<Linear> linear =
            Linear::bind(view, bias, TargetSet::scalar_only(), memory, exec_);
        ASSERT_TRUE(linear.is_ok()) << linear.status().message();
        const auto placed =
            test_device()->place(view, bias, {.cast = {}, .rounds_inputs = rounds}, exec_);
        ASSERT_TRUE(placed.is_ok()) << placed.status().message();
        const bool is_exact = unit != 1 || !rounds;
        EXPECT_LE(distance(on_gpu(*placed, x, tokens), on_cpu(*linear, x, tokens)),
                  is_exact && unit == 1 ? 2e-4 : limit_for(tokens, is_exact))
            << info(layout).name << " [" << rows << ", " << cols << "] by " << tokens
            << (rounds ? " rounded" : "");
      }
    }
  }
}

// Most panels are then given out as they come, and again by the next launch.
TEST_F(LinearCuda, ManyRowsGiveWhatTheProcessorGives) {
  Random random(test_seed());
  for (const Layout layout : {Layout::kQ4_0, Layout::kQ8_0, Layout::kQ4_K, Layout::kQ6_K}) {
    for (const auto& [rows, cols] : {std::pair{24'005, 256}, std::pair{16'000, 2048}}) {
      const std::vector<std::byte> bytes = random.weights(layout, rows * cols);
      const TensorView view{layout, Shape{static_cast<uint64_t>(rows), static_cast<uint64_t>(cols)},
                            bytes};
      WeightMemory memory;
      const Linear linear = *Linear::bind(view, {}, TargetSet::scalar_only(), memory, exec_);
      const auto placed = test_device()->place(view, {}, {}, exec_);
      ASSERT_TRUE(placed.is_ok()) << placed.status().message();
      for (const int64_t tokens : {1, 3}) {
        const std::vector<float> x = random.normals(tokens * cols);
        const std::vector<float> wanted = on_cpu(linear, x, tokens);
        const std::vector<float> first = on_gpu(*placed, x, tokens);
        EXPECT_LE(distance(first, wanted), limit_for(tokens, true)) << info(layout).name;
        EXPECT_EQ(on_gpu(*placed, x, tokens), first) << info(layout).name;
      }
    }
  }
}

// q and k of one packing and v of another go together where there is one token.
TEST_F(LinearCuda, WeightsOfTwoPackingsGiveWhatEachGives) {
  Random random(test_seed());
  struct Pair {
    Layout first;
    Layout second;
  };
  for (const auto& [first, second] :
       {Pair{Layout::kQ4_K, Layout::kQ6_K}, Pair{Layout::kQ5_K, Layout::kQ6_K},
        Pair{Layout::kQ4_K, Layout::kQ5_K}, Pair{Layout::kQ3_K, Layout::kQ5_K},
        Pair{Layout::kQ3_K, Layout::kQ4_K}, Pair{Layout::kQ2_K, Layout::kQ4_K},
        Pair{Layout::kQ2_K, Layout::kQ3_K}, Pair{Layout::kQ6_K, Layout::kQ4_K}}) {
    for (const auto& [rows, cols] : {std::pair{40, 768}, std::pair{9000, 512}}) {
      const std::vector<float> x = random.normals(cols);
      std::array<std::shared_ptr<const DeviceWeight>, 3> placed;
      std::array<std::vector<float>, 3> alone;
      std::array<Linear, 3> linears;
      std::array<LinearOutput, 3> outputs;
      const std::array heights{static_cast<int64_t>(rows), int64_t{24}, int64_t{rows / 4 + 3}};
      for (size_t i = 0; i < 3; ++i) {
        const Layout layout = i == 2 ? second : first;
        const std::vector<std::byte> bytes = random.weights(layout, heights[i] * cols);
        const TensorView view{
            layout, Shape{static_cast<uint64_t>(heights[i]), static_cast<uint64_t>(cols)}, bytes};
        placed[i] = *test_device()->place(view, {}, {}, exec_);
        alone[i] = on_gpu(placed[i], x, 1);
        linears[i] = Linear::placed(placed[i]);
      }
      ops_->begin({});
      float* own_x = ops_->buffer(Buffer::kNormed, cols);
      ops_->write(own_x, x);
      constexpr std::array kBuffers{Buffer::kGate, Buffer::kUp, Buffer::kBranch};
      for (size_t i = 0; i < 3; ++i)
        outputs[i] = {&linears[i], ops_->buffer(kBuffers[i], heights[i]), heights[i]};
      ops_->set_input(InputSlot::kBranch, own_x, 1, cols);
      ops_->run_linears(InputSlot::kBranch, outputs);
      for (size_t i = 0; i < 3; ++i) {
        std::vector<float> y(static_cast<size_t>(heights[i]));
        ASSERT_TRUE(ops_->read(outputs[i].y, y).is_ok());
        EXPECT_EQ(y, alone[i]) << info(first).name << " and " << info(second).name << ", " << i;
      }
    }
  }
}

class LinearOfManyTokens : public LinearCuda {
 protected:
  void expect_exact(const std::shared_ptr<const DeviceWeight>& placed,
                    const std::vector<float>& weights, const std::vector<float>& x,
                    const ManyShape& shape) {
    EXPECT_LE(distance_by_rows(on_gpu(placed, x, shape.tokens),
                               exact(weights, x, shape.rows, shape.tokens), shape.rows),
              kManyLimit)
        << "[" << shape.rows << ", " << shape.cols << " units] by " << shape.tokens;
  }
};

class LinearOfLayoutCuda : public LinearOfManyTokens,
                           public ::testing::WithParamInterface<Layout> {};

TEST_P(LinearOfLayoutCuda, ManyTokensAreMultipliedByTheWeightsOwnNumbers) {
  Random random(test_seed());
  const Layout layout = GetParam();
  for (const ManyShape& shape : kManyShapes) {
    const int64_t cols = shape.cols * 256;
    const std::vector<std::byte> bytes = random.weights(layout, shape.rows * cols);
    const std::vector<float> x = random.normals(shape.tokens * cols);
    const TensorView view{
        layout, Shape{static_cast<uint64_t>(shape.rows), static_cast<uint64_t>(cols)}, bytes};
    const auto placed = test_device()->place(view, {}, {}, exec_);
    ASSERT_TRUE(placed.is_ok()) << placed.status().message();
    std::vector<float> weights(static_cast<size_t>(shape.rows * cols));
    dequantize(layout, bytes, weights);
    expect_exact(*placed, weights, x, shape);
  }
}

std::vector<Layout> layouts_of_blocks() {
  std::vector<Layout> layouts;
  for (const Layout layout : kLayouts)
    if (info(layout).block_elements > 1) layouts.push_back(layout);
  return layouts;
}

INSTANTIATE_TEST_SUITE_P(Blocks, LinearOfLayoutCuda, ::testing::ValuesIn(layouts_of_blocks()),
                         [](const auto& test) { return test_name(ingot::info(test.param).name); });

class LinearOfPackingCuda : public LinearOfManyTokens,
                            public ::testing::WithParamInterface<Packing> {};

TEST_P(LinearOfPackingCuda, ManyTokensAreMultipliedByTheWeightsOwnNumbers) {
  Random random(test_seed());
  for (const ManyShape& shape : kManyShapes) {
    const int64_t cols = shape.cols * 256 - 192;
    RandomQuant quant = random_quant(random, GetParam(), shape.rows, cols);
    quant.tensor.codes = quant.codes;
    const std::vector<float> x = random.normals(shape.tokens * cols);
    const auto placed = test_device()->place(quant.tensor, {}, {}, exec_);
    ASSERT_TRUE(placed.is_ok()) << placed.status().message();
    std::vector<float> weights(static_cast<size_t>(shape.rows * cols));
    for (int64_t row = 0; row < shape.rows; ++row)
      dequantize_row(
          quant.tensor, row,
          std::span(weights).subspan(static_cast<size_t>(row * cols), static_cast<size_t>(cols)));
    expect_exact(*placed, weights, x, shape);
  }
}

std::vector<Packing> packings_of_codes() {
  std::vector<Packing> packings;
  for (const Packing packing : kQuantPackings)
    if (!is_e4m3(packing)) packings.push_back(packing);
  return packings;
}

INSTANTIATE_TEST_SUITE_P(Codes, LinearOfPackingCuda, ::testing::ValuesIn(packings_of_codes()),
                         [](const auto& test) { return test_name(ingot::info(test.param).name); });

TEST_F(LinearCuda, FloatsOfAnyWidthAreMultiplied) {
  Random random(test_seed());
  for (const Layout layout : {Layout::kF32, Layout::kF16, Layout::kBF16}) {
    for (const int64_t cols : {1, 7, 33, 100, 259}) {
      const std::vector<std::byte> bytes = random.weights(layout, 19 * cols);
      const std::vector<float> x = random.normals(5 * cols);
      const TensorView view{layout, Shape{19, static_cast<uint64_t>(cols)}, bytes};
      WeightMemory memory;
      const Linear linear = *Linear::bind(view, {}, TargetSet::scalar_only(), memory, exec_);
      const auto placed = test_device()->place(view, {}, {}, exec_);
      ASSERT_TRUE(placed.is_ok()) << placed.status().message();
      EXPECT_LE(distance(on_gpu(*placed, x, 5), on_cpu(linear, x, 5)), 2e-4)
          << info(layout).name << " " << cols;
    }
  }
}

TEST_F(LinearCuda, SchemesWhoseScalesLieApartGiveWhatTheProcessorGives) {
  Random random(test_seed());
  for (const Packing packing : kQuantPackings) {
    for (const int64_t tokens : {1, 8, 20, 70}) {
      const int64_t rows = random.whole(1, 100);
      const int64_t cols = 64 * random.whole(1, 20);
      RandomQuant quant = random_quant(random, packing, rows, cols);
      quant.tensor.codes = quant.codes;
      const std::vector<float> x = random.normals(tokens * cols);
      WeightMemory memory;
      const Result<Linear> linear =
          Linear::bind(quant.tensor, {}, TargetSet::scalar_only(), memory, exec_);
      ASSERT_TRUE(linear.is_ok()) << linear.status().message();
      for (const bool rounds : {false, true}) {
        const auto placed =
            test_device()->place(quant.tensor, {}, {.cast = {}, .rounds_inputs = rounds}, exec_);
        ASSERT_TRUE(placed.is_ok()) << placed.status().message();
        const bool is_exact = !is_e4m3(packing) || !rounds;
        const double limit = is_e4m3(packing) && !rounds ? 2e-4 : limit_for(tokens, is_exact);
        EXPECT_LE(distance(on_gpu(*placed, x, tokens), on_cpu(*linear, x, tokens)), limit)
            << info(packing).name << " [" << rows << ", " << cols << "] by " << tokens
            << (rounds ? " rounded" : "");
      }
    }
  }
}

TEST_F(LinearCuda, InputsAreRoundedAsACheckpointSays) {
  Random random(test_seed());
  const auto try_one = [&](Packing packing, const InputQuant& input) {
    for (const int64_t tokens : {1, 20}) {
      RandomQuant quant = random_quant(random, packing, 48, 512);
      quant.tensor.codes = quant.codes;
      quant.tensor.input = input;
      const std::vector<float> x = random.normals(tokens * 512);
      WeightMemory memory;
      const Result<Linear> linear =
          Linear::bind(quant.tensor, {}, TargetSet::scalar_only(), memory, exec_);
      ASSERT_TRUE(linear.is_ok()) << linear.status().message();
      const auto placed = test_device()->place(quant.tensor, {}, {}, exec_);
      ASSERT_TRUE(placed.is_ok()) << placed.status().message();
      // Tensor cores of Hopper keep 13 bits of sums of e4m3.
      const double limit = packing == Packing::kF8 && tokens > 8 ? 0.02 : 1e-3;
      EXPECT_LE(distance(on_gpu(*placed, x, tokens), on_cpu(*linear, x, tokens)), limit)
          << info(packing).name << " kind " << static_cast<int>(input.kind) << " block "
          << input.block << " by " << tokens;
    }
  };
  try_one(Packing::kGroups8Zero, {.kind = InputKind::kInt8});
  try_one(Packing::kGroups8Zero, {.kind = InputKind::kInt8, .scale = 0.03F, .zero = 5});
  try_one(Packing::kGroups8Zero, {.kind = InputKind::kInt8, .is_symmetric = false});
  try_one(Packing::kF8, {.kind = InputKind::kE4m3});
  try_one(Packing::kF8, {.kind = InputKind::kE4m3, .scale = 0.01F});
  try_one(Packing::kF8, {.kind = InputKind::kE4m3, .block = 128});
}

}  // namespace
}  // namespace ingot

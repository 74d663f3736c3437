// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernels/test_random.h"

namespace ingot {
namespace {

constexpr float kEpsilon = std::numeric_limits<float>::epsilon();

// A weight matrix with inputs and a bias, decoded as well.
struct Problem {
  Problem(Random& random, Layout kind, int64_t row_count, int64_t col_count, int64_t token_count)
      : layout(kind),
        rows(row_count),
        cols(col_count),
        tokens(token_count),
        weights(random.weights(kind, row_count * col_count)),
        x(random.normals(token_count * col_count)),
        bias(random.normals(row_count)),
        decoded(static_cast<size_t>(row_count * col_count)) {
    dequantize(layout, weights, decoded);
  }

  TensorView view() const {
    return {layout, Shape{static_cast<uint64_t>(rows), static_cast<uint64_t>(cols)}, weights};
  }
  float weight(int64_t row, int64_t col) const {
    return decoded[static_cast<size_t>(row * cols + col)];
  }
  float input(int64_t token, int64_t col) const {
    return x[static_cast<size_t>(token * cols + col)];
  }

  Layout layout;
  int64_t rows;
  int64_t cols;
  int64_t tokens;
  std::vector<std::byte> weights;
  std::vector<float> x;
  std::vector<float> bias;
  std::vector<float> decoded;
};

// y [tokens, rows] of one kernel, rows in pieces of `piece`, all tokens at once.
std::vector<float> run(const LinearKernel& kernel, const Problem& problem, int64_t piece) {
  ThreadPool pool(1);
  const Exec exec(pool);
  Activations x(TargetSet::scalar_only());
  x.set(problem.x.data(), problem.tokens, problem.cols);
  std::vector<float> y = poisoned(problem.tokens * problem.rows);
  const LinearArgs args{
      .layout = problem.layout,
      .weights = problem.weights.data(),
      .weight_row_bytes = static_cast<int64_t>(problem.view().row_bytes()),
      .cols = problem.cols,
      .x = x.rows(kernel.activation, exec),
      .tokens = problem.tokens,
      .y = y.data(),
      .y_stride = problem.rows,
      .bias = problem.bias.data(),
  };
  for (int64_t row = 0; row < problem.rows; row += piece)
    kernel.run(args, row, std::min(row + piece, problem.rows));
  return y;
}

// Any order of n products and sums in float stays within n * eps / 2 of their magnitudes' sum;
// twice that covers the higher orders. `quantum` adds what rounding the inputs to codes may change.
float bound(const Problem& problem, int64_t token, int64_t row, ActivationLayout activation) {
  double magnitude = std::fabs(static_cast<double>(problem.bias[static_cast<size_t>(row)]));
  double quantized = 0;
  const int64_t group =
      activation == ActivationLayout::kF32 ? problem.cols : activation_group(activation);
  for (int64_t first = 0; first < problem.cols; first += group) {
    float largest = 0;
    double weights = 0;
    for (int64_t col = first; col < first + group; ++col) {
      const float x = std::fabs(problem.input(token, col));
      const float w = std::fabs(problem.weight(row, col));
      largest = std::max(largest, x);
      weights += static_cast<double>(w);
      magnitude += static_cast<double>(w) * static_cast<double>(x);
    }
    if (activation != ActivationLayout::kF32)
      quantized += weights * static_cast<double>(largest) / 127 * 0.5001;
  }
  // Affine layouts subtract sums that are up to some sixteen times as large as their difference.
  const double sums = activation == ActivationLayout::kF32 ? 1 : 32;
  const auto rounded =
      static_cast<double>(kEpsilon) * static_cast<double>(problem.cols + 8) * magnitude * sums;
  return static_cast<float>(rounded + quantized);
}

struct Extent {
  int64_t rows;
  int64_t cols;
  int64_t tokens;
};

// Sizes that fit the layout: odd ones for plain elements, whole blocks otherwise.
std::vector<Extent> extents(Layout layout) {
  const int64_t unit = info(layout).block_elements;
  if (unit == 1) return {{1, 1, 1}, {7, 130, 5}, {5, 1031, 2}, {13, 96, 37}};
  if (unit < 256) return {{1, unit, 1}, {7, 3 * unit, 5}, {13, 15 * unit, 37}, {9, 2048, 3}};
  return {{1, 256, 1}, {7, 768, 5}, {17, 512, 37}, {9, 2048, 3}};
}

bool is_weight_layout(Layout layout) {
  if (layout == Layout::kBool || layout == Layout::kC64) return false;
  return layout < Layout::kI8 || layout > Layout::kU64;
}

TEST(Linear, EveryListedKernelMatchesTheReference) {
  Random random(test_seed());
  for (const LinearKernel& kernel : linear_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    for (const auto [rows, cols, tokens] : extents(kernel.layout)) {
      SCOPED_TRACE(fmt::format("{} {}x{} by {}", kernel.name, rows, cols, tokens));
      const LinearKernel* truth = choose_linear(kernel.layout, cols, TargetSet::scalar_only());
      ASSERT_NE(truth, nullptr);
      ASSERT_EQ(truth->activation, kernel.activation) << "not the same arithmetic";
      const Problem problem(random, kernel.layout, rows, cols, tokens);
      const std::vector<float> expected = run(*truth, problem, rows);
      const std::vector<float> actual = run(kernel, problem, rows);
      for (int64_t token = 0; token < tokens; ++token) {
        for (int64_t row = 0; row < rows; ++row) {
          const auto i = static_cast<size_t>(token * rows + row);
          if (kernel.activation == ActivationLayout::kF32) {
            ASSERT_NEAR(actual[i], expected[i], bound(problem, token, row, kernel.activation));
          } else {  // whole numbers and one order of rounding: the same bits
            ASSERT_EQ(actual[i], expected[i]) << "token " << token << " row " << row;
          }
        }
      }
    }
  }
}

TEST(Linear, IntegerReferencesStayNearTheDecodedWeights) {
  Random random(test_seed());
  for (const LinearKernel& kernel : linear_kernels()) {
    if (kernel.target != Target::kScalar || kernel.activation == ActivationLayout::kF32) continue;
    SCOPED_TRACE(kernel.name);
    const Problem problem(random, kernel.layout, 5, 768, 3);
    const std::vector<float> actual = run(kernel, problem, 5);
    for (int64_t token = 0; token < problem.tokens; ++token) {
      for (int64_t row = 0; row < problem.rows; ++row) {
        double sum = static_cast<double>(problem.bias[static_cast<size_t>(row)]);
        for (int64_t col = 0; col < problem.cols; ++col) {
          sum += static_cast<double>(problem.weight(row, col)) *
                 static_cast<double>(problem.input(token, col));
        }
        ASSERT_NEAR(actual[static_cast<size_t>(token * problem.rows + row)], sum,
                    bound(problem, token, row, kernel.activation));
      }
    }
  }
}

TEST(Linear, EveryWeightLayoutHasAKernelOnEveryMachine) {
  for (size_t i = 0; i < kLayoutCount; ++i) {
    const auto layout = static_cast<Layout>(i);
    for (const TargetSet targets : {TargetSet::scalar_only(), TargetSet::of_this_machine()}) {
      for (const int64_t blocks : {1, 3, 8}) {
        const LinearKernel* kernel =
            choose_linear(layout, blocks * info(layout).block_elements, targets);
        EXPECT_EQ(kernel != nullptr, is_weight_layout(layout)) << info(layout).name;
        EXPECT_TRUE(kernel == nullptr || targets.has(kernel->target));
      }
    }
  }
}

// One token at a time, odd row pieces and any number of threads give the bits of the whole.
TEST(Linear, OutputsDependOnNothingButTheirRowAndToken) {
  Random random(test_seed());
  for (const LinearKernel& kernel : linear_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    SCOPED_TRACE(kernel.name);
    const int64_t cols = info(kernel.layout).block_elements == 1 ? 1100 : 1280;
    const Problem problem(random, kernel.layout, 37, cols, 37);
    const std::vector<float> whole = run(kernel, problem, problem.rows);
    EXPECT_EQ(whole, run(kernel, problem, 5));
    EXPECT_EQ(whole, run(kernel, problem, 1));
    for (int64_t tokens = 1; tokens < 10; ++tokens) {
      Problem part = problem;
      part.tokens = tokens;
      const int64_t first = random.whole(0, problem.tokens - tokens);
      part.x.erase(part.x.begin(), part.x.begin() + first * cols);
      const std::vector<float> alone = run(kernel, part, problem.rows);
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), whole.begin() + first * problem.rows))
          << tokens << " tokens";
    }
  }
}

TEST(Linear, ThreadsChangeNothing) {
  Random random(test_seed());
  for (const Layout layout : {Layout::kF32, Layout::kBF16, Layout::kQ4_K, Layout::kQ8_0}) {
    const Problem problem(random, layout, 150, 512, 7);
    const auto linear = Linear::bind(problem.view(), problem.bias, TargetSet::of_this_machine());
    ASSERT_TRUE(linear.is_ok());
    std::vector<float> first;
    for (const int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      const Exec exec(pool);
      Activations x(TargetSet::of_this_machine());
      x.set(problem.x.data(), problem.tokens, problem.cols);
      std::vector<float> y = poisoned(problem.tokens * 160);
      linear->run(exec, x, y.data(), 160);
      for (int64_t token = 0; token < problem.tokens; ++token) {
        for (int64_t i = 150; i < 160; ++i) {
          float& beyond = y[static_cast<size_t>(token * 160 + i)];
          EXPECT_TRUE(std::isnan(beyond)) << "wrote past the last row";
          beyond = 0;
        }
      }
      if (first.empty()) first = y;
      EXPECT_EQ(y, first) << threads << " threads";
    }
  }
}

TEST(Linear, BindRefusesWhatDoesNotFit) {
  Random random(test_seed());
  const Problem problem(random, Layout::kQ8_0, 4, 64, 1);
  const TargetSet targets = TargetSet::of_this_machine();
  EXPECT_TRUE(Linear::bind(problem.view(), {}, targets).is_ok());
  TensorView shorter = problem.view();
  shorter.bytes = shorter.bytes.first(shorter.bytes.size() - 1);
  EXPECT_EQ(Linear::bind(shorter, {}, targets).status().code(), StatusCode::kInvalidData);
  const std::span<const float> bias(problem.bias.data(), 3);
  EXPECT_EQ(Linear::bind(problem.view(), bias, targets).status().code(), StatusCode::kInvalidData);
  const std::vector<std::byte> bytes(16);
  const TensorView integers{Layout::kI32, Shape{2, 2}, bytes};
  EXPECT_EQ(Linear::bind(integers, {}, targets).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace ingot

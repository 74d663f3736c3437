// SPDX-License-Identifier: Apache-2.0
#include "quant/gptq.h"

#include <gtest/gtest.h>

#include <random>

namespace ingot {
namespace {

struct Problem {
  int64_t rows = 24;
  int64_t cols = 384;
  std::vector<float> weights;
  std::vector<float> hessian;
};

// Inputs whose columns depend on each other and differ in size, as a model's do.
Problem make_problem(unsigned seed) {
  Problem problem;
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  const auto cols = static_cast<size_t>(problem.cols);
  problem.weights.resize(static_cast<size_t>(problem.rows) * cols);
  for (float& weight : problem.weights)
    weight = 0.05F * normal(random);
  problem.hessian.resize(cols * cols);
  std::vector<float> x(cols);
  for (int sample = 0; sample < 600; ++sample) {
    const float shared = normal(random);
    for (size_t c = 0; c < cols; ++c)
      x[c] = (normal(random) + shared) * (c % 17 == 0 ? 6.0F : 1.0F);
    x[5] = 0;  // a column that is never used
    for (size_t i = 0; i < cols; ++i) {
      for (size_t j = 0; j < cols; ++j)
        problem.hessian[i * cols + j] += x[i] * x[j] / 600;
    }
  }
  return problem;
}

class Gptq : public ::testing::Test {
 protected:
  double loss(const std::vector<float>& quantized) {
    return *output_loss(problem_.weights, quantized, problem_.rows, problem_.hessian, problem_.cols,
                        exec_, targets_);
  }
  AffineCodes gptq(const AffineOptions& options, bool orders_columns) {
    const Feedback feedback =
        *factor_hessian(problem_.hessian, problem_.cols, {0.01, orders_columns}, exec_, targets_);
    return *quantize_gptq(problem_.weights, problem_.rows, feedback, options, exec_, targets_);
  }
  Problem problem_ = make_problem(7);
  ThreadPool pool_{2};
  Exec exec_{pool_};
  TargetSet targets_ = TargetSet::of_this_machine();
};

TEST_F(Gptq, FactorsRebuildTheHessian) {
  const Feedback feedback =
      *factor_hessian(problem_.hessian, problem_.cols, {0.01, false}, exec_, targets_);
  const auto n = static_cast<size_t>(problem_.cols);
  double mean = 0;
  for (size_t i = 0; i < n; ++i)
    mean += static_cast<double>(problem_.hessian[i * n + i]) / static_cast<double>(n);
  for (size_t i = 0; i < n; i += 7) {
    for (size_t j = 0; j < n; j += 5) {
      double sum = 0;
      for (size_t k = std::max(i, j); k < n; ++k) {
        const double ri = k == i ? 1 : static_cast<double>(feedback.r[i * n + k]);
        const double rj = k == j ? 1 : static_cast<double>(feedback.r[j * n + k]);
        sum += ri * rj * static_cast<double>(feedback.d[k]);
      }
      const double damping = i == j ? 0.01 * mean : 0;
      EXPECT_NEAR(sum, static_cast<double>(problem_.hessian[i * n + j]) + damping, 1e-3 * mean);
    }
  }
}

TEST_F(Gptq, LosesFarLessThanRounding) {
  for (const int64_t group : {int64_t{0}, int64_t{32}, int64_t{128}}) {
    for (const bool is_symmetric : {true, false}) {
      SCOPED_TRACE(::testing::Message() << group << " " << is_symmetric);
      const AffineOptions options{4, group, is_symmetric, Layout::kF16, 0, true};
      const double rounded =
          loss(quantize_affine(problem_.weights, problem_.rows, problem_.cols, {}, options, exec_)
                   .values());
      const double plain = loss(gptq(options, false).values());
      const double ordered = loss(gptq(options, true).values());
      EXPECT_LT(plain, 0.6 * rounded);
      EXPECT_LT(ordered, 0.6 * rounded);
    }
  }
}

TEST_F(Gptq, GroupsFollowTheColumnOrder) {
  const AffineCodes codes = gptq({4, 128, true, Layout::kF16, 0, true}, true);
  const std::vector<int32_t> group = codes.group_of_columns();
  for (int64_t k = 0; k < codes.cols; ++k) {
    const auto column = static_cast<size_t>(codes.order[static_cast<size_t>(k)]);
    EXPECT_EQ(group[column], k / 128);
  }
}

TEST_F(Gptq, IsTheSameOnAnyNumberOfThreads) {
  const AffineCodes two = gptq({3, 128, false, Layout::kF16, 0, true}, true);
  ThreadPool one(1);
  exec_ = Exec(one);
  const AffineCodes single = gptq({3, 128, false, Layout::kF16, 0, true}, true);
  EXPECT_EQ(two.codes, single.codes);
  EXPECT_EQ(two.scales, single.scales);
}

TEST_F(Gptq, RefusesStatisticsThatAreNotFinite) {
  problem_.hessian[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(
      factor_hessian(problem_.hessian, problem_.cols, {0.01, false}, exec_, targets_).is_ok());
}

TEST(Affine, ValuesOnTheGridStay) {
  ThreadPool pool(1);
  std::vector<float> values;
  for (int i = 0; i < 32; ++i)
    values.push_back(static_cast<float>(i % 16 - 8) * 0.25F);
  const AffineCodes codes =
      quantize_affine(values, 1, 32, {}, {4, 32, true, Layout::kF16, 0, true}, Exec(pool));
  EXPECT_EQ(codes.values(), values);
}

TEST(Affine, ZerosAndTinyValuesHaveAGrid) {
  ThreadPool pool(1);
  for (const float value : {0.0F, 1e-30F, -1e-38F}) {
    const std::vector<float> values(64, value);
    for (const bool is_symmetric : {true, false}) {
      const AffineCodes codes = quantize_affine(
          values, 1, 64, {}, {4, 32, is_symmetric, Layout::kF16, 0, true}, Exec(pool));
      EXPECT_GT(codes.scales[0], 0);
      for (const float decoded : codes.values())
        EXPECT_EQ(decoded, 0);
    }
  }
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "quant/scaling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace ingot {
namespace {

// A few columns of the input stand out, as they do in every large model.
class Scaling : public ::testing::Test {
 protected:
  void SetUp() override {
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    weights_.resize(kRows * kCols);
    for (float& weight : weights_)
      weight = 0.05F * normal(random);
    inputs_.resize(kTokens * kCols);
    hessian_.resize(kCols * kCols);
    magnitudes_.resize(kCols);
    largest_.resize(kCols);
    for (size_t t = 0; t < kTokens; ++t) {
      float* x = inputs_.data() + t * kCols;
      for (size_t c = 0; c < kCols; ++c) {
        x[c] = normal(random) * (c % 32 == 3 ? 30.0F : 1.0F);
        magnitudes_[c] += std::fabs(x[c]) / kTokens;
        largest_[c] = std::max(largest_[c], std::fabs(x[c]));
      }
      for (size_t i = 0; i < kCols; ++i) {
        for (size_t j = 0; j < kCols; ++j)
          hessian_[i * kCols + j] += x[i] * x[j] / kTokens;
      }
    }
    problem_ = {kCols, {weights_}, hessian_, magnitudes_, largest_, inputs_};
  }
  static constexpr size_t kRows = 48;
  static constexpr size_t kCols = 128;
  static constexpr size_t kTokens = 200;
  std::vector<float> weights_, inputs_, hessian_, magnitudes_, largest_;
  ScaleProblem problem_;
  ThreadPool pool_{2};
  Exec exec_{pool_};
  TargetSet targets_ = TargetSet::of_this_machine();
};

TEST_F(Scaling, AwqProtectsTheColumnsThatMatter) {
  const ScaleChoice choice =
      *search_awq_scales(problem_, {4, 128, false, Layout::kF16, 0, true}, {}, exec_, targets_);
  EXPECT_LT(choice.loss, 0.85 * choice.plain_loss);
  EXPECT_GT(choice.scales[3], choice.scales[4]);
}

TEST_F(Scaling, SmoothQuantShrinksTheInputsThatStandOut) {
  const ScaleChoice choice = *search_smooth_scales(problem_, {}, exec_, targets_);
  EXPECT_LT(choice.loss, 0.5 * choice.plain_loss);
  EXPECT_GT(choice.scales[3], choice.scales[4]);
}

TEST_F(Scaling, ConstraintsHold) {
  const ConstrainScales halves = [](std::vector<float>& scales) {
    for (size_t c = 0; c < kCols / 2; ++c)
      scales[c + kCols / 2] = scales[c];
  };
  const ScaleChoice choice =
      *search_awq_scales(problem_, {4, 128, false, Layout::kF16, 0, true}, halves, exec_, targets_);
  for (size_t c = 0; c < kCols / 2; ++c)
    EXPECT_EQ(choice.scales[c], choice.scales[c + kCols / 2]);
}

TEST_F(Scaling, InputsOfZerosAreLeftAlone) {
  std::ranges::fill(hessian_, 0.0F);
  std::ranges::fill(magnitudes_, 0.0F);
  std::ranges::fill(largest_, 0.0F);
  std::ranges::fill(inputs_, 0.0F);
  const ScaleChoice choice =
      *search_awq_scales(problem_, {4, 128, false, Layout::kF16, 0, true}, {}, exec_, targets_);
  for (const float scale : choice.scales)
    EXPECT_EQ(scale, 1);
}

}  // namespace
}  // namespace ingot

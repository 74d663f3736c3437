// SPDX-License-Identifier: Apache-2.0
#include "compress/allocate.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace ingot {
namespace {

// Two tensors of equal size, of which the first suffers ten times as much.
const std::vector<TensorChoices> kTwo = {
    {{Layout::kQ2_K, 10, 1.0}, {Layout::kQ4_K, 20, 0.2}, {Layout::kQ8_0, 40, 0.01}},
    {{Layout::kQ2_K, 10, 0.1}, {Layout::kQ4_K, 20, 0.02}, {Layout::kQ8_0, 40, 0.001}}};

TEST(Allocate, BytesGoToTheTensorThatSuffersMost) {
  const Allocation result = allocate_bytes(kTwo, 30);
  EXPECT_EQ(result.bytes, 30U);
  EXPECT_EQ(result.chosen, (std::vector<size_t>{1, 0}));
}

TEST(Allocate, TheSmallestIsTakenWhereNothingFits) {
  const Allocation result = allocate_bytes(kTwo, 5);
  EXPECT_EQ(result.bytes, 20U);
}

TEST(Allocate, LossIsMetWithFewBytes) {
  const Allocation result = allocate_loss(kTwo, 0.31);
  EXPECT_LE(result.loss, 0.31);
  EXPECT_EQ(result.bytes, 30U);
  EXPECT_LE(allocate_loss(kTwo, 0.0).loss, 0.0111);  // all it can
}

TEST(Allocate, AChoiceThatCostsMoreAndLosesMoreIsNeverTaken) {
  const std::vector<TensorChoices> tensors = {
      {{Layout::kQ4_0, 20, 0.3}, {Layout::kQ4_K, 20, 0.2}, {Layout::kQ5_0, 25, 0.25}}};
  EXPECT_EQ(allocate_bytes(tensors, 100).chosen, (std::vector<size_t>{1}));
}

// Against all combinations: a step of one tensor at most from the best.
TEST(Allocate, ComesCloseToTheBestOfAll) {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> uniform(0.1, 1.0);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<TensorChoices> tensors;
    for (int t = 0; t < 5; ++t) {
      const double gain = uniform(random);
      const auto size = static_cast<uint64_t>(10 + 20 * uniform(random));
      tensors.push_back({{Layout::kQ2_K, size, gain},
                         {Layout::kQ4_K, 2 * size, gain * 0.1},
                         {Layout::kQ8_0, 4 * size, gain * 0.001}});
    }
    constexpr uint64_t kBytes = 300;
    const Allocation found = allocate_bytes(tensors, kBytes);
    double best = std::numeric_limits<double>::max();
    for (int code = 0; code < 243; ++code) {
      uint64_t bytes = 0;
      double loss = 0;
      int rest = code;
      for (const TensorChoices& choices : tensors) {
        const TypeChoice& choice = choices[static_cast<size_t>(rest % 3)];
        bytes += choice.bytes;
        loss += choice.loss;
        rest /= 3;
      }
      if (bytes <= kBytes) best = std::min(best, loss);
    }
    EXPECT_LE(found.bytes, kBytes);
    EXPECT_LE(found.loss, best + 0.1);
  }
}

}  // namespace
}  // namespace ingot

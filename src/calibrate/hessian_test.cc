// SPDX-License-Identifier: Apache-2.0
#include "calibrate/hessian.h"

#include <gtest/gtest.h>

#include <random>

namespace ingot {
namespace {

TEST(Hessian, IsTheMeanOfTheProducts) {
  constexpr int64_t kCols = 520;  // more than one block
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  ThreadPool pool(2);
  Hessian hessian(kCols);
  std::vector<double> expected(kCols * kCols);
  for (const int64_t rows : {48, 1, 19}) {
    std::vector<float> x(static_cast<size_t>(rows * kCols));
    for (float& value : x)
      value = normal(random);
    for (size_t row = 0; row < x.size(); row += kCols) {
      for (size_t i = 0; i < kCols; ++i) {
        for (size_t j = 0; j < kCols; ++j)
          expected[i * kCols + j] += static_cast<double>(x[row + i] * x[row + j]);
      }
    }
    ASSERT_TRUE(hessian.add(x, Exec(pool), TargetSet::of_this_machine()).is_ok());
  }
  EXPECT_EQ(hessian.rows(), 68);
  const std::vector<float> mean = hessian.take();
  for (size_t i = 0; i < mean.size(); ++i)
    ASSERT_NEAR(mean[i], expected[i] / 68, 1e-5) << i;
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kernels/test_random.h"

namespace ingot {
namespace {

constexpr Activation kActivations[] = {Activation::kSilu,     Activation::kGelu,
                                       Activation::kGeluTanh, Activation::kGeluQuick,
                                       Activation::kRelu,     Activation::kReluSquared};

// Both signs of every magnitude from subnormal to 1e4, a fresh sample of the bit patterns each run.
std::vector<float> all_magnitudes(Random& random) {
  std::vector<float> values;
  for (uint32_t bits = 0; bits < std::bit_cast<uint32_t>(1e4F);) {
    values.push_back(std::bit_cast<float>(bits));
    values.push_back(-std::bit_cast<float>(bits));
    bits += static_cast<uint32_t>(random.whole(1, 20000));
  }
  return values;
}

// The reference rounds once, from double; 4 units in the last place are allowed. Below the normal
// numbers digits are lost to the format itself.
void expect_near(float actual, float expected, float x) {
  const float ulp = std::nextafter(std::fabs(expected), INFINITY) - std::fabs(expected);
  ASSERT_LE(std::fabs(actual - expected), 4 * ulp + 4 * std::numeric_limits<float>::min())
      << fmt::format("at {} ({:a}): {} instead of {}", x, x, actual, expected);
}

TEST(Elementwise, ActivationsAreWithinFourUnitsOfTheReference) {
  Random random(test_seed());
  const std::vector<float> x = all_magnitudes(random);
  const ElementwiseKernels& truth = choose_elementwise(TargetSet::scalar_only());
  for (const ElementwiseKernels& kernels : elementwise_kernels()) {
    if (!TargetSet::of_this_machine().has(kernels.target)) continue;
    for (const Activation activation : kActivations) {
      SCOPED_TRACE(fmt::format("{} activation {}", kernels.name, static_cast<int>(activation)));
      const auto count = static_cast<int64_t>(x.size());
      std::vector<float> expected = poisoned(count);
      std::vector<float> actual = poisoned(count);
      truth.activate(activation, x.data(), nullptr, expected.data(), count);
      kernels.activate(activation, x.data(), nullptr, actual.data(), count);
      for (size_t i = 0; i < x.size(); ++i)
        expect_near(actual[i], expected[i], x[i]);
    }
  }
}

TEST(Elementwise, SoftcapIsWithinFourUnitsOfTheReference) {
  Random random(test_seed());
  const std::vector<float> x = all_magnitudes(random);
  const ElementwiseKernels& truth = choose_elementwise(TargetSet::scalar_only());
  for (const ElementwiseKernels& kernels : elementwise_kernels()) {
    if (!TargetSet::of_this_machine().has(kernels.target)) continue;
    std::vector<float> expected = x;
    std::vector<float> actual = x;
    truth.softcap(expected.data(), 30.0F, static_cast<int64_t>(x.size()));
    kernels.softcap(actual.data(), 30.0F, static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i)
      expect_near(actual[i], expected[i], x[i]);
  }
}

TEST(Elementwise, AValueDoesNotSeeItsPlaceAndNothingElseIsWritten) {
  Random random(test_seed());
  const std::vector<float> x = random.normals(29);
  const std::vector<float> up = random.normals(29);
  for (const ElementwiseKernels& kernels : elementwise_kernels()) {
    if (!TargetSet::of_this_machine().has(kernels.target)) continue;
    for (const Activation activation : kActivations) {
      std::vector<float> whole = poisoned(32);
      kernels.activate(activation, x.data(), up.data(), whole.data(), 29);
      EXPECT_TRUE(std::isnan(whole[29]));
      for (size_t i = 0; i < 29; ++i) {
        float alone = x[i];
        kernels.activate(activation, &alone, &up[i], &alone, 1);
        EXPECT_EQ(alone, whole[i]) << kernels.name << " at " << i;
      }
    }
  }
}

TEST(Elementwise, ANaNStaysOne) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const ElementwiseKernels& kernels : elementwise_kernels()) {
    if (!TargetSet::of_this_machine().has(kernels.target)) continue;
    for (const Activation activation : kActivations) {
      float value = 0;
      kernels.activate(activation, &nan, nullptr, &value, 1);
      EXPECT_TRUE(std::isnan(value)) << kernels.name << " " << static_cast<int>(activation);
    }
    float value = nan;
    kernels.softcap(&value, 30.0F, 1);
    EXPECT_TRUE(std::isnan(value)) << kernels.name;
  }
}

TEST(Elementwise, AddScaledIsOneProductAndOneSum) {
  Random random(test_seed());
  const std::vector<float> x = random.normals(27);
  const std::vector<float> y = random.normals(27);
  for (const ElementwiseKernels& kernels : elementwise_kernels()) {
    if (!TargetSet::of_this_machine().has(kernels.target)) continue;
    std::vector<float> sum = y;
    kernels.add_scaled(sum.data(), x.data(), 0.3F, 27);
    for (size_t i = 0; i < 27; ++i) {
      const float product = 0.3F * x[i];
      EXPECT_EQ(sum[i], y[i] + product) << kernels.name;
    }
  }
}

TEST(Elementwise, KnowsHuggingFacesNames) {
  EXPECT_EQ(activation_named("silu"), Activation::kSilu);
  EXPECT_EQ(activation_named("gelu"), Activation::kGelu);
  EXPECT_EQ(activation_named("gelu_pytorch_tanh"), Activation::kGeluTanh);
  EXPECT_EQ(activation_named("relu2"), Activation::kReluSquared);
  EXPECT_EQ(activation_named("mish"), std::nullopt);
}

}  // namespace
}  // namespace ingot

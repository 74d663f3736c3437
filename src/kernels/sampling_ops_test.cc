// SPDX-License-Identifier: Apache-2.0
#include "kernels/sampling_ops.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/test_random.h"

namespace ingot {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kSizes[] = {1, 7, 8, 63, 64, 65, 200, 1000, 32003};

// Ordinary logits with a few of the awkward: ties, minus infinity, far below.
std::vector<float> logits_of(Random& random, size_t count) {
  std::vector<float> x = random.normals(static_cast<int64_t>(count));
  for (float& value : x) {
    value *= 6;
    if (random.whole(0, 9) == 0) value = std::nearbyint(value);
    if (random.whole(0, 30) == 0) value = -kInfinity;
    if (random.whole(0, 30) == 0) value = -random.uniform(60, 120);
  }
  if (std::ranges::max(x) == -kInfinity) x[0] = 0;
  return x;
}

void for_each_kernel(const std::function<void(const SamplingKernels&)>& check) {
  for (const SamplingKernels& kernel : sampling_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    SCOPED_TRACE(kernel.name);
    check(kernel);
  }
}

const SamplingKernels& truth() {
  return choose_sampling(TargetSet::scalar_only());
}

TEST(SamplingOps, EveryListedKernelScansAndCollectsLikeTheReference) {
  Random random(test_seed());
  for_each_kernel([&](const SamplingKernels& kernel) {
    for (const size_t count : kSizes) {
      const std::vector<float> x = logits_of(random, count);
      std::vector<float> expected(logit_blocks(count));
      std::vector<float> actual(logit_blocks(count), -7);
      EXPECT_TRUE(truth().scan(x.data(), count, expected.data()));
      EXPECT_TRUE(kernel.scan(x.data(), count, actual.data()));
      EXPECT_EQ(actual, expected) << count;
      for (const float floor : {-kInfinity, -70.0F, 0.0F, 5.0F, 12.0F, kInfinity}) {
        std::vector<uint32_t> wanted;
        for (size_t i = 0; i < count; ++i)
          if (x[i] >= floor) wanted.push_back(static_cast<uint32_t>(i));
        std::vector<uint32_t> found(count + 8);
        found.resize(kernel.collect(x.data(), count, expected.data(), floor, found.data()));
        EXPECT_EQ(found, wanted) << count << " floor " << floor;
      }
    }
  });
}

TEST(SamplingOps, EveryListedKernelSeesANaNWhereverItIs) {
  Random random(test_seed());
  for_each_kernel([&](const SamplingKernels& kernel) {
    for (const size_t count : {size_t{1}, size_t{64}, size_t{203}}) {
      for (size_t at = 0; at < count; ++at) {
        std::vector<float> x = logits_of(random, count);
        x[at] = std::numeric_limits<float>::quiet_NaN();
        std::vector<float> maxima(logit_blocks(count));
        EXPECT_FALSE(kernel.scan(x.data(), count, maxima.data())) << at << " of " << count;
      }
    }
  });
}

TEST(SamplingOps, EveryListedKernelWeighsBitForBitLikeTheReference) {
  Random random(test_seed());
  for_each_kernel([&](const SamplingKernels& kernel) {
    for (const size_t count : kSizes) {
      const std::vector<float> x = logits_of(random, count);
      const float top = std::ranges::max(x);
      for (const float scale : {1.0F, 1.25F, 0.01F, 37.0F, 1e20F}) {
        SCOPED_TRACE(fmt::format("{} scale {}", count, scale));
        std::vector<float> weights(count, -1);
        std::vector<float> actual_weights(count, -1);
        std::vector<float> sums(logit_blocks(count));
        std::vector<float> actual_sums(logit_blocks(count));
        const WeightSums expected =
            truth().weigh(x.data(), count, top, scale, weights.data(), sums.data());
        const WeightSums actual =
            kernel.weigh(x.data(), count, top, scale, actual_weights.data(), actual_sums.data());
        EXPECT_EQ(actual_weights, weights);
        EXPECT_EQ(actual_sums, sums);
        EXPECT_EQ(std::bit_cast<uint64_t>(actual.weight), std::bit_cast<uint64_t>(expected.weight));
        EXPECT_EQ(std::bit_cast<uint64_t>(actual.exponent),
                  std::bit_cast<uint64_t>(expected.exponent));
        EXPECT_EQ(kernel.weigh(x.data(), count, top, scale, nullptr, sums.data()).weight,
                  expected.weight);
      }
    }
  });
}

TEST(SamplingOps, WeightsAreExponentials) {
  Random random(test_seed());
  const std::vector<float> x = logits_of(random, 32003);
  const float top = std::ranges::max(x);
  std::vector<float> weights(x.size());
  std::vector<float> sums(logit_blocks(x.size()));
  const WeightSums found = truth().weigh(x.data(), x.size(), top, 1, weights.data(), sums.data());
  double total = 0;
  double exponents = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const float exponent = x[i] - top;
    const double exact = exponent > kLowestExponent ? std::exp(static_cast<double>(exponent)) : 0;
    // Two roundings of a half ulp each and the series' 5e-9.
    EXPECT_NEAR(weights[i], exact, exact * 1.3e-7) << exponent;
    total += exact;
    if (exact > 0) exponents += exact * static_cast<double>(exponent);
  }
  EXPECT_NEAR(found.weight, total, total * 1e-6);  // 8 additions in float in each lane
  EXPECT_NEAR(found.exponent, exponents, -exponents * 1e-6);
}

TEST(SamplingOps, EveryListedKernelMasksAndTakesMomentsLikeTheReference) {
  Random random(test_seed());
  for_each_kernel([&](const SamplingKernels& kernel) {
    for (const size_t count : kSizes) {
      const std::vector<float> x = logits_of(random, count);
      std::vector<uint32_t> mask((count + 31) / 32);
      for (uint32_t& word : mask)
        word = static_cast<uint32_t>(random.whole(0, UINT32_MAX));
      std::vector<float> expected(count);
      std::vector<float> actual(count);
      truth().mask(x.data(), count, mask.data(), expected.data());
      kernel.mask(x.data(), count, mask.data(), actual.data());
      EXPECT_EQ(actual, expected) << count;
      for (const float center : {0.0F, 3.5F}) {
        const LogitMoments wanted = truth().moments(x.data(), count, center);
        const LogitMoments found = kernel.moments(x.data(), count, center);
        EXPECT_EQ(std::bit_cast<uint64_t>(found.sum), std::bit_cast<uint64_t>(wanted.sum)) << count;
        EXPECT_EQ(std::bit_cast<uint64_t>(found.squares), std::bit_cast<uint64_t>(wanted.squares));
        EXPECT_EQ(found.count, wanted.count);
      }
    }
  });
}

}  // namespace
}  // namespace ingot

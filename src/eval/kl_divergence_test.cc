// SPDX-License-Identifier: Apache-2.0
#include "eval/kl_divergence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace ingot {
namespace {

// Straight from the definition, in double.
double plain_kl(std::span<const float> p, std::span<const float> q) {
  const auto log_sum = [](std::span<const float> x) {
    double sum = 0;
    for (const float value : x)
      sum += std::exp(static_cast<double>(value));
    return std::log(sum);
  };
  const double zp = log_sum(p);
  const double zq = log_sum(q);
  double kl = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double lp = static_cast<double>(p[i]) - zp;
    kl += std::exp(lp) * (lp - (static_cast<double>(q[i]) - zq));
  }
  return kl;
}

TEST(KlDivergence, AgreesWithNumbersTakenByHand) {
  // p = (1/2, 1/4, 1/4), q = (1/4, 1/2, 1/4): KL = ln 2 / 2 - ln 2 / 4 = ln 2 / 4.
  const float two = std::log(2.0F);
  const std::vector<float> p = {two, 0, 0};
  const std::vector<float> q = {3, 3 + two, 3};
  KlDivergence kl;
  kl.add(p, q, 0);
  const KlStats stats = kl.stats();
  EXPECT_EQ(stats.tokens, 1);
  EXPECT_NEAR(stats.mean_kl, std::log(2.0) / 4, 1e-7);
  EXPECT_EQ(stats.top1_agreement, 0);
  EXPECT_NEAR(stats.mean_delta_p, -0.25, 1e-7);
  EXPECT_NEAR(stats.rms_delta_p, 0.25, 1e-7);
  EXPECT_NEAR(stats.reference_perplexity, 2, 1e-6);
  EXPECT_NEAR(stats.perplexity, 4, 1e-6);
  EXPECT_NEAR(stats.perplexity_ratio, 2, 1e-6);
}

TEST(KlDivergence, IsNothingBetweenEqualRowsWhateverTheirLevel) {
  std::vector<float> p(1003);
  std::vector<float> q(1003);
  for (size_t i = 0; i < p.size(); ++i) {
    p[i] = static_cast<float>(i % 17) * 0.25F;
    q[i] = p[i] + 64;
  }
  KlDivergence kl;
  kl.add(p, q, 5);
  EXPECT_EQ(kl.stats().mean_kl, 0);
  EXPECT_EQ(kl.stats().top1_agreement, 1);
  EXPECT_EQ(kl.stats().perplexity_ratio, 1);
}

TEST(KlDivergence, FollowsTheDefinitionOnRandomRowsOfEveryLength) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal(0, 3);
  std::normal_distribution<float> small(0, 0.01F);
  for (const size_t size : {1u, 2u, 7u, 8u, 63u, 64u, 65u, 200u, 8192u, 50001u}) {
    std::vector<float> p(size);
    std::vector<float> q(size);
    for (size_t i = 0; i < size; ++i) {
      p[i] = normal(random);
      q[i] = p[i] + small(random);
    }
    RowComparer comparer;
    const KlRow row = comparer.compare(p, q, static_cast<TokenId>(size / 2));
    ASSERT_TRUE(row.is_finite);
    // Weights and sums are exact to a few units of 2^-24.
    EXPECT_NEAR(static_cast<double>(row.kl), plain_kl(p, q), 1e-6) << size;
  }
}

TEST(KlDivergence, LeavesOutWhatTheReferenceGivesNoChance) {
  const float none = -std::numeric_limits<float>::infinity();
  const std::vector<float> p = {0, 0, none};
  const std::vector<float> q = {0, 0, 0};
  RowComparer comparer;
  const KlRow row = comparer.compare(p, q, 1);
  EXPECT_TRUE(row.is_finite);
  EXPECT_NEAR(row.kl, std::log(1.5F), 1e-6F);
  EXPECT_FALSE(comparer.compare(q, p, 1).is_finite) << "q is 0 where p is not";
}

TEST(KlDivergence, CountsRowsThatAreNotFiniteApart) {
  const std::vector<float> good = {1, 2, 3};
  const std::vector<float> bad = {1, std::nanf(""), 3};
  KlDivergence kl;
  kl.add(good, bad, 0);
  kl.add(bad, good, 0);
  kl.add(good, good, 0);
  EXPECT_EQ(kl.bad_rows(), 2);
  EXPECT_EQ(kl.tokens(), 1);
}

TEST(KlDivergence, SumsDoNotDependOnWhoComparedTheRows) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 2);
  KlDivergence direct;
  KlDivergence collected;
  RowComparer other;
  for (int i = 0; i < 20; ++i) {
    std::vector<float> p(100);
    std::vector<float> q(100);
    for (size_t j = 0; j < p.size(); ++j) {
      p[j] = normal(random);
      q[j] = normal(random);
    }
    direct.add(p, q, 7);
    collected.add(other.compare(p, q, 7));
  }
  EXPECT_EQ(direct.stats().mean_kl, collected.stats().mean_kl);
  EXPECT_EQ(direct.stats().rms_delta_p, collected.stats().rms_delta_p);
  EXPECT_GT(direct.stats().mean_kl_error, 0);
}

TEST(Quantile, LiesBetweenNeighboursOnAStraightLine) {
  std::vector<float> values = {4, 1, 3, 2};
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 1), 4);
  EXPECT_EQ(quantile(values, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 0.1), 1.3);
  EXPECT_EQ(quantile({}, 0.5), 0);
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "engine/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/random.h"

namespace ingot {
namespace {

TokenId draw(const SamplingParams& params, const std::vector<float>& logits, uint64_t position = 0,
             const std::vector<TokenId>& history = {}) {
  return *Sampler(params).sample(logits, history, position);
}

SamplingParams plain() {
  return {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0};
}

TEST(Argmax, LowestIdWinsATie) {
  EXPECT_EQ(argmax(std::vector<float>{1, 3, 3, 2}), 1);
}

TEST(Argmax, RefusesNaN) {
  EXPECT_FALSE(argmax(std::vector<float>{1, std::nanf(""), 3}).has_value());
}

TEST(PositionLogprobs, AreALogSoftmaxBestFirst) {
  const PositionLogprobs found =
      position_logprobs(std::vector<float>{0, std::log(2.0F), std::log(5.0F)}, 0, 2);
  EXPECT_NEAR(found.logprob, std::log(1.0 / 8), 1e-6);
  ASSERT_EQ(found.top.size(), 2u);
  EXPECT_EQ(found.top[0].id, 2);
  EXPECT_NEAR(found.top[0].logprob, std::log(5.0 / 8), 1e-6);
  EXPECT_EQ(found.top[1].id, 1);
}

TEST(Sampler, ZeroTemperatureIsGreedy) {
  SamplingParams params;
  params.temperature = 0;
  for (uint64_t position = 0; position < 20; ++position)
    EXPECT_EQ(draw(params, {0, 1, 0.5F}, position), 1);
}

TEST(Sampler, DrawsInProportionToProbability) {
  const std::vector<float> logits = {std::log(1.0F), std::log(3.0F), std::log(6.0F)};
  std::vector<int> counts(3);
  for (uint64_t position = 0; position < 20000; ++position)
    ++counts[static_cast<size_t>(draw(plain(), logits, position))];
  // Five standard deviations of a binomial of 20,000 draws.
  EXPECT_NEAR(counts[0], 2000, 5 * std::sqrt(20000 * 0.1 * 0.9));
  EXPECT_NEAR(counts[1], 6000, 5 * std::sqrt(20000 * 0.3 * 0.7));
}

TEST(Sampler, TopKKeepsTheBest) {
  SamplingParams params = plain();
  params.top_k = 2;
  for (uint64_t position = 0; position < 200; ++position)
    EXPECT_NE(draw(params, {1, 1.2F, 0.9F, 1.1F}, position) % 2, 0);
}

TEST(Sampler, TopPKeepsTheSmallestSetThatReachesIt) {
  SamplingParams params = plain();
  params.top_p = 0.85F;
  const std::vector<float> logits = {std::log(0.1F), std::log(0.3F), std::log(0.6F)};
  for (uint64_t position = 0; position < 500; ++position)
    EXPECT_NE(draw(params, logits, position), 0);
}

TEST(Sampler, MinPDropsWhatIsUnlikelyBesideTheBest) {
  SamplingParams params = plain();
  params.min_p = 0.4F;
  const std::vector<float> logits = {std::log(0.2F), std::log(0.3F), std::log(0.6F)};
  for (uint64_t position = 0; position < 500; ++position)
    EXPECT_NE(draw(params, logits, position), 0);
}

TEST(Sampler, RepetitionPenaltyLowersSeenTokensWhateverTheirSign) {
  SamplingParams params;
  params.temperature = 0;
  params.repetition_penalty = 2;
  EXPECT_EQ(draw(params, {3, 2}, 0, {0}), 1);
  EXPECT_EQ(draw(params, {-1, -1.5F}, 0, {0}), 1);
}

TEST(Sampler, PenaltiesForgetWhatIsFartherBackThanTheirWindow) {
  SamplingParams params;
  params.temperature = 0;
  params.presence_penalty = 5;
  params.repeat_last_n = 2;
  EXPECT_EQ(draw(params, {3, 2}, 0, {0, 1, 1}), 0);
}

TEST(Sampler, FrequencyPenaltyCounts) {
  SamplingParams params;
  params.temperature = 0;
  params.frequency_penalty = 0.6F;
  EXPECT_EQ(draw(params, {3, 2}, 0, {0}), 0);
  EXPECT_EQ(draw(params, {3, 2}, 0, {0, 0}), 1);
}

TEST(Sampler, SameSeedAndPositionGiveTheSameToken) {
  std::vector<float> logits(100, 0.0F);
  SamplingParams other = plain();
  other.seed = 1;
  int differences = 0;
  for (uint64_t position = 0; position < 50; ++position) {
    EXPECT_EQ(draw(plain(), logits, position), draw(plain(), logits, position));
    differences += draw(plain(), logits, position) != draw(other, logits, position) ? 1 : 0;
  }
  EXPECT_GT(differences, 40);
}

TEST(Sampler, NaNLogitsAreAnErrorOfThisRequest) {
  const auto result = Sampler(plain()).sample(std::vector<float>{0, std::nanf("")}, {}, 0);
  EXPECT_EQ(result.status().code(), StatusCode::kInternal);
}

TEST(SamplingParams, OutOfRangeNamesTheField) {
  SamplingParams params;
  params.temperature = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(validate(params).message().find("temperature"), std::string::npos);
  params = {};
  params.top_p = 1.5F;
  EXPECT_NE(validate(params).message().find("top_p"), std::string::npos);
  EXPECT_TRUE(validate(SamplingParams{}).is_ok());
}

TEST(Random, IsUniform) {
  double sum = 0;
  for (uint64_t i = 0; i < 100000; ++i)
    sum += uniform(7, i);
  EXPECT_NEAR(sum / 100000, 0.5, 5 * std::sqrt(1.0 / 12 / 100000));
}

}  // namespace
}  // namespace ingot

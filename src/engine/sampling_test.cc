// SPDX-License-Identifier: Apache-2.0
#include "engine/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "engine/random.h"
#include "engine/sampler_candidates.h"

namespace ingot {
namespace {

TokenId draw(const SamplingParams& params, const std::vector<float>& logits, uint64_t position = 0,
             const std::vector<TokenId>& history = {}) {
  SamplerScratch scratch;
  return *Sampler(params).sample(logits, {history, 0}, position, scratch);
}

SamplingParams plain() {
  return {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0};
}

std::vector<float> normals(uint64_t seed, size_t count, float deviation = 2) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(count);
  for (float& value : values)
    value = normal(random);
  return values;
}

SamplingParams everything() {
  SamplingParams params{.temperature = 1.1F,
                        .dynatemp_range = 0.3F,
                        .top_k = 500,
                        .top_p = 0.97F,
                        .min_p = 0.001F,
                        .typical_p = 0.98F,
                        .top_n_sigma = 4,
                        .xtc_probability = 0.5F,
                        .xtc_threshold = 0.05F,
                        .repetition_penalty = 1.1F,
                        .presence_penalty = 0.2F,
                        .frequency_penalty = 0.1F,
                        .dry_multiplier = 0.8F,
                        .seed = 11};
  params.dry_breakers = {{3}};
  params.logit_bias = {{5, 1.0F}, {6, -kInfinity}};
  params.bad_words = {{7, 8}};
  return params;
}

TEST(Argmax, LowestIdWinsATie) {
  EXPECT_EQ(argmax(std::vector<float>{1, 3, 3, 2}), 1);
  std::vector<float> many(1000, -1);
  many[777] = many[900] = 4;
  EXPECT_EQ(argmax(many), 777);
}

TEST(Argmax, RefusesWhatIsNotFinite) {
  EXPECT_FALSE(argmax(std::vector<float>{1, std::nanf(""), 3}).has_value());
  EXPECT_FALSE(argmax(std::vector<float>{1, kInfinity}).has_value());
  EXPECT_FALSE(argmax(std::vector<float>{-kInfinity}).has_value());
  EXPECT_FALSE(argmax({}).has_value());
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

TEST(PositionLogprobs, MatchASortOfALargeVocabulary) {
  Candidates scratch;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const std::vector<float> logits = normals(seed, 20000, 3);
    double sum = 0;
    std::vector<TokenId> order(logits.size());
    for (size_t i = 0; i < logits.size(); ++i) {
      sum += std::exp(static_cast<double>(logits[i]));
      order[i] = static_cast<TokenId>(i);
    }
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](TokenId id) { return logits[static_cast<size_t>(id)]; });
    for (const int best : {0, 1, 20, 3000, 30000}) {
      const PositionLogprobs found = position_logprobs(logits, 77, best, scratch);
      EXPECT_NEAR(found.logprob, static_cast<double>(logits[77]) - std::log(sum), 2e-6);
      ASSERT_EQ(found.top.size(), std::min<size_t>(static_cast<size_t>(best), 20000));
      for (size_t i = 0; i < found.top.size(); ++i) {
        ASSERT_EQ(found.top[i].id, order[i]);
        ASSERT_NEAR(found.top[i].logprob,
                    static_cast<double>(logits[static_cast<size_t>(order[i])]) - std::log(sum),
                    2e-6);
      }
    }
  }
}

TEST(Sampler, ZeroTemperatureIsGreedyWhateverElseIsOn) {
  SamplingParams params = everything();
  params.temperature = 0;
  params.dynatemp_range = 0;
  params.logit_bias = {};
  for (uint64_t position = 0; position < 20; ++position)
    EXPECT_EQ(draw(params, {0, 1, 0.5F}, position), 1);
}

TEST(Sampler, DrawsExactlyWhereItsNumberFallsInTheDistribution) {
  SamplerScratch scratch;
  for (const size_t count : {3u, 100u, 10000u}) {
    const std::vector<float> logits = normals(count, count);
    for (uint64_t position = 0; position < 200; ++position) {
      Sampler sampler(plain());
      const auto all = *sampler.distribution(logits, {}, position, scratch);
      const double at = uniform(0, position);
      const TokenId drawn = *sampler.sample(logits, {}, position, scratch);
      double before = 0;
      size_t i = 0;
      while (all[i].id != drawn)
        before += all[i++].probability;
      EXPECT_LE(before, at + 1e-6);
      EXPECT_GE(before + all[i].probability, at - 1e-6);
    }
  }
}

TEST(Sampler, RepetitionPenaltyTurnsGreedyAway) {
  SamplingParams params;
  params.temperature = 0;
  params.repetition_penalty = 2;
  EXPECT_EQ(draw(params, {3, 2}, 0, {0}), 1);
  EXPECT_EQ(draw(params, {-1, -1.5F}, 0, {0}), 1);
}

TEST(Sampler, SameSeedChoiceAndPositionGiveTheSameToken) {
  const std::vector<float> logits(100, 0.0F);
  SamplerScratch scratch;
  SamplingParams other = plain();
  other.seed = 1;
  int seeds = 0;
  int choices = 0;
  for (uint64_t position = 0; position < 50; ++position) {
    const TokenId token = draw(plain(), logits, position);
    EXPECT_EQ(token, draw(plain(), logits, position));
    seeds += token != draw(other, logits, position) ? 1 : 0;
    Sampler choice(plain(), 1);
    choices += token != *choice.sample(logits, {}, position, scratch) ? 1 : 0;
  }
  EXPECT_GT(seeds, 40);
  EXPECT_GT(choices, 40);
}

// Another sequence's rows in between, another order, other kernels: the same tokens.
TEST(Sampler, DoesNotDependOnWhatElseRanNorOnTheKernels) {
  const uint64_t seed = std::random_device{}();
  SamplerScratch busy;
  SamplerScratch reference(TargetSet::scalar_only());
  for (const size_t vocab : {300u, 9000u}) {
    for (const SamplingParams& params : {plain(), SamplingParams{}, everything()}) {
      std::vector<TokenId> history = {1, 2, 3};
      std::vector<TokenId> again = history;
      Sampler sampler(params);
      Sampler neighbour(everything(), 3);
      Sampler scalar(params);
      for (uint64_t position = 3; position < 30; ++position) {
        const std::vector<float> logits = normals(seed + position, vocab);
        const std::vector<float> others = normals(seed + position + 99, vocab + 50);
        EXPECT_TRUE(neighbour.sample(others, {history, 3}, position, busy).is_ok());
        history.push_back(*sampler.sample(logits, {history, 3}, position, busy));
        again.push_back(*scalar.sample(logits, {again, 3}, position, reference));
      }
      EXPECT_EQ(history, again) << "seed " << seed;
    }
  }
}

TEST(Sampler, MirostatDrawsAtTheSurpriseAskedFor) {
  SamplingParams params = plain();
  params.mirostat = 2;
  params.mirostat_tau = 3;
  SamplerScratch scratch;
  Sampler sampler(params);
  EXPECT_DOUBLE_EQ(sampler.state().mirostat_mu, 6);
  double sum = 0;
  for (uint64_t position = 0; position < 1000; ++position) {
    const double mu = sampler.state().mirostat_mu;
    const std::vector<float> logits = normals(position % 7, 2000);
    double total = 0;
    for (const float logit : logits)
      total += std::exp(static_cast<double>(logit));
    const auto kept = *sampler.distribution(logits, {}, position, scratch);
    const auto expected = std::ranges::count_if(logits, [&](float logit) {
      return -std::log2(std::exp(static_cast<double>(logit)) / total) <= mu;
    });
    EXPECT_EQ(std::ssize(kept), std::max<ptrdiff_t>(1, expected));
    const TokenId token = *sampler.sample(logits, {}, position, scratch);
    const double surprise =
        -std::log2(std::ranges::find(kept, token, &Sampler::TokenProbability::id)->probability);
    EXPECT_NEAR(sampler.state().mirostat_mu, mu - 0.1 * (surprise - 3), 1e-5);
    sum += surprise;
  }
  EXPECT_NEAR(sum / 1000, 3, 0.1);
}

TEST(Sampler, AForkCopiesStateAndASavedStateResumes) {
  SamplingParams params = plain();
  params.mirostat = 2;
  SamplerScratch scratch;
  Sampler sampler(params);
  const auto run = [&](Sampler& with, uint64_t begin, uint64_t end) {
    std::vector<TokenId> ids;
    for (uint64_t position = begin; position < end; ++position)
      ids.push_back(*with.sample(normals(position, 500), {}, position, scratch));
    return ids;
  };
  run(sampler, 0, 20);
  Sampler fork = sampler;
  Sampler other = sampler.with_choice(5);
  const SamplerState saved = sampler.state();
  const std::vector<TokenId> expected = run(sampler, 20, 40);
  EXPECT_EQ(run(fork, 20, 40), expected);
  EXPECT_NE(run(other, 20, 40), expected);
  Sampler resumed(params);
  resumed.set_state(saved);
  EXPECT_EQ(run(resumed, 20, 40), expected);
}

TEST(Sampler, OnlyAllowedTokensAreDrawn) {
  SamplerScratch scratch;
  const std::vector<float> logits = normals(3, 200);
  SamplingParams params = plain();
  params.allowed_token_ids = {150, 20, 70, 20};
  std::vector<uint32_t> mask(7);
  mask[0] = 1u << 20;
  mask[2] = 1u << 7;  // token 71
  const auto by_ids = *Sampler(params).distribution(logits, {}, 0, scratch);
  ASSERT_EQ(by_ids.size(), 3u);
  EXPECT_EQ(by_ids[0].id, 20);
  EXPECT_EQ(by_ids[2].id, 150);
  const auto by_mask = *Sampler(plain()).distribution(logits, {}, 0, scratch, mask);
  ASSERT_EQ(by_mask.size(), 2u);
  EXPECT_EQ(by_mask[1].id, 71);
  const auto by_both = *Sampler(params).distribution(logits, {}, 0, scratch, mask);
  ASSERT_EQ(by_both.size(), 1u);
  EXPECT_EQ(by_both[0].id, 20);
  params.temperature = 0;
  EXPECT_EQ(*Sampler(params).sample(logits, {}, 0, scratch, mask), 20);
}

TEST(Sampler, NothingLeftIsAnErrorOfThisRequest) {
  SamplerScratch scratch;
  SamplingParams params = plain();
  params.logit_bias = {{0, -kInfinity}, {1, -kInfinity}};
  const auto result = Sampler(params).sample(std::vector<float>{0, 1}, {}, 0, scratch);
  EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
  const uint32_t none[] = {0};
  EXPECT_FALSE(Sampler(plain()).sample(std::vector<float>{0, 1}, {}, 0, scratch, none).is_ok());
}

TEST(Sampler, LogitsThatAreNotFiniteAreAnErrorOfThisRequest) {
  SamplerScratch scratch;
  for (const SamplingParams& params : {plain(), SamplingParams{.temperature = 0}, everything()}) {
    for (const float bad : {std::nanf(""), kInfinity}) {
      std::vector<float> logits(500, 1.0F);
      logits[123] = bad;
      const auto result = Sampler(params).sample(logits, {}, 0, scratch);
      EXPECT_EQ(result.status().code(), StatusCode::kInternal);
    }
    const std::vector<float> none(500, -kInfinity);
    EXPECT_FALSE(Sampler(params).sample(none, {}, 0, scratch).is_ok());
    EXPECT_FALSE(Sampler(params).sample({}, {}, 0, scratch).is_ok());
  }
}

TEST(Random, IsUniform) {
  double sum = 0;
  for (uint64_t i = 0; i < 100000; ++i)
    sum += uniform(7, i);
  EXPECT_NEAR(sum / 100000, 0.5, 5 * std::sqrt(1.0 / 12 / 100000));
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// Every stage against its plain definition: sorted lists, doubles, no tricks. Distributions are
// compared exactly, token by token.
#include "engine/sampler_stages.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "engine/random.h"
#include "engine/sampling.h"

namespace ingot {
namespace {

struct Token {
  TokenId id = 0;
  double logit = 0;
  double p = 0;
};
using Tokens = std::vector<Token>;

void softmax(Tokens& tokens) {
  std::ranges::sort(tokens, [](const Token& a, const Token& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  });
  double sum = 0;
  for (Token& token : tokens)
    sum += token.p = std::exp(token.logit - tokens.front().logit);
  for (Token& token : tokens)
    token.p /= sum;
}

double entropy_of(const Tokens& tokens) {
  double sum = 0;
  for (const Token& token : tokens)
    sum -= token.p > 0 ? token.p * std::log(token.p) : 0;
  return sum;
}

void plain_stage(SamplerStage stage, const SamplingParams& params, bool has_xtc, Tokens& tokens) {
  softmax(tokens);
  const auto keep = [&](auto&& predicate) {
    std::erase_if(tokens, [&](const Token& token) { return !predicate(token); });
  };
  switch (stage) {
    case SamplerStage::kTopNSigma: {
      if (params.top_n_sigma <= 0) return;
      double mean = 0;
      for (const Token& token : tokens)
        mean += token.logit / static_cast<double>(tokens.size());
      double variance = 0;
      for (const Token& token : tokens)
        variance += std::pow(token.logit - mean, 2) / static_cast<double>(tokens.size());
      const double floor = tokens[0].logit - params.top_n_sigma * std::sqrt(variance);
      return keep([&](const Token& token) { return token.logit >= floor; });
    }
    case SamplerStage::kTopK:
      if (params.top_k > 0 && tokens.size() > static_cast<size_t>(params.top_k))
        tokens.resize(static_cast<size_t>(params.top_k));
      return;
    case SamplerStage::kTopP: {
      double sum = 0;
      size_t count = 0;
      while (count < tokens.size() && (count == 0 || sum < params.top_p))
        sum += tokens[count++].p;
      if (params.top_p < 1) tokens.resize(count);
      return;
    }
    case SamplerStage::kMinP: {
      const double least = params.min_p * tokens[0].p;
      return keep([&](const Token& token) { return token.p >= least; });
    }
    case SamplerStage::kTypicalP: {
      if (params.typical_p >= 1) return;
      const double entropy = entropy_of(tokens);
      std::ranges::stable_sort(
          tokens, {}, [&](const Token& token) { return std::fabs(-std::log(token.p) - entropy); });
      double sum = 0;
      size_t count = 0;
      while (count < tokens.size() && sum <= params.typical_p)
        sum += tokens[count++].p;
      tokens.resize(count);
      return;
    }
    case SamplerStage::kXtc: {
      if (!has_xtc) return;
      size_t likely = 0;
      while (likely < tokens.size() && tokens[likely].p >= params.xtc_threshold)
        ++likely;
      if (likely > 1)
        tokens.erase(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(likely - 1));
      return;
    }
    case SamplerStage::kTemperature: {
      double temperature = params.temperature;
      if (params.dynatemp_range > 0 && tokens.size() > 1) {
        const double low = std::max(0.0F, params.temperature - params.dynatemp_range);
        const double high = params.temperature + params.dynatemp_range;
        const double share = entropy_of(tokens) / std::log(static_cast<double>(tokens.size()));
        temperature = low + (high - low) * std::pow(share, params.dynatemp_exponent);
      }
      for (Token& token : tokens)
        token.logit /= temperature;
      return;
    }
    case SamplerStage::kPenalties:
    case SamplerStage::kDry:
      return;
  }
}

SamplingParams off() {
  return {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0};
}

// A few tokens stand out, as models have it, or none does.
std::vector<float> random_logits(std::mt19937_64& random, size_t count, bool is_peaked) {
  std::normal_distribution<float> normal(0, is_peaked ? 2.0F : 1.0F);
  std::vector<float> logits(count);
  for (float& logit : logits)
    logit = normal(random);
  for (size_t i = 0; is_peaked && i < std::min<size_t>(count, 30); ++i)
    logits[random() % count] += std::fabs(normal(random)) * 4;
  return logits;
}

void expect_plain(const SamplingParams& params, const std::vector<float>& logits,
                  SamplerScratch& scratch, double tolerance) {
  constexpr uint64_t kPosition = 3;
  const std::vector<SamplerStage>& stages =
      params.stages.empty() ? default_stages() : params.stages;
  const bool has_xtc =
      uniform(stream_seed(params.seed, 0, RandomUse::kXtc), kPosition) < params.xtc_probability;
  Tokens expected;
  for (size_t i = 0; i < logits.size(); ++i)
    expected.push_back({static_cast<TokenId>(i), logits[i]});
  for (const SamplerStage stage : stages)
    plain_stage(stage, params, has_xtc, expected);
  softmax(expected);
  std::erase_if(expected, [](const Token& token) { return token.p < 1e-36; });
  std::ranges::sort(expected, {}, &Token::id);
  auto actual = *Sampler(params).distribution(logits, {}, kPosition, scratch);
  std::erase_if(actual, [](const auto& token) { return token.probability < 1e-36; });
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].id, expected[i].id);
    ASSERT_NEAR(actual[i].probability, expected[i].p, tolerance * expected[i].p);
  }
}

// An exponent is rounded three times (difference, scale, product): 3 * 2^-24 of 87 at most.
constexpr double kExponentError = 1.6e-5;

void check_stage(const std::function<void(SamplingParams&, std::mt19937_64&)>& set,
                 double tolerance = kExponentError) {
  // Fixed: about one seed in a hundred puts a cut so near a token that rounding decides.
  constexpr uint64_t kSeed = 20;
  std::mt19937_64 random(kSeed);
  SamplerScratch scratch;
  for (const size_t count : {1u, 2u, 70u, 5000u, 32000u}) {
    for (const bool is_peaked : {true, false}) {
      for (int i = 0; i < 4; ++i) {
        SamplingParams params = off();
        set(params, random);
        SCOPED_TRACE(fmt::format("count {} peaked {} try {}", count, is_peaked, i));
        expect_plain(params, random_logits(random, count, is_peaked), scratch, tolerance);
      }
    }
  }
}

float pick(std::mt19937_64& random, float low, float high) {
  return std::uniform_real_distribution<float>(low, high)(random);
}

TEST(SamplerStages, NothingOnLeavesTheModelsDistribution) {
  check_stage([](SamplingParams&, std::mt19937_64&) {});
}
TEST(SamplerStages, TopKIsItsDefinition) {
  check_stage([](SamplingParams& params, std::mt19937_64& random) {
    params.top_k = static_cast<int32_t>(1u << (random() % 13)) + static_cast<int32_t>(random() % 3);
  });
}
TEST(SamplerStages, TopPIsItsDefinition) {
  check_stage([](SamplingParams& params, std::mt19937_64& random) {
    params.top_p = random() % 4 == 0 ? pick(random, 0, 0.1F) : pick(random, 0.3F, 0.999F);
  });
}
TEST(SamplerStages, MinPIsItsDefinition) {
  check_stage([](SamplingParams& params, std::mt19937_64& random) {
    params.min_p = pick(random, 0.001F, 1);
  });
}
TEST(SamplerStages, TypicalPIsItsDefinition) {
  check_stage([](SamplingParams& params, std::mt19937_64& random) {
    params.typical_p = pick(random, 0.05F, 0.99F);
  });
}
TEST(SamplerStages, TopNSigmaIsItsDefinition) {
  check_stage([](SamplingParams& params, std::mt19937_64& random) {
    params.top_n_sigma = pick(random, 0.1F, 4);
  });
}
TEST(SamplerStages, XtcIsItsDefinition) {
  check_stage([](SamplingParams& params, std::mt19937_64& random) {
    params.xtc_probability = random() % 4 == 0 ? 0.5F : 1.0F;
    params.xtc_threshold = pick(random, 0.001F, 0.6F);
    params.seed = random();
  });
}
TEST(SamplerStages, TemperatureIsItsDefinition) {
  check_stage([](SamplingParams& params, std::mt19937_64& random) {
    params.temperature = pick(random, 0.2F, 5);
  });
}
TEST(SamplerStages, DynamicTemperatureIsItsDefinition) {
  // Sums of weights are within 11 roundings (7e-7), so the entropy within 1.5e-6 and, with range
  // and exponent up to 1 and 2, the temperature within 9e-6: 3e-5 of 0.3, at exponents up to 87.
  check_stage(
      [](SamplingParams& params, std::mt19937_64& random) {
        params.dynatemp_range = pick(random, 0.1F, 1);
        params.temperature = params.dynatemp_range + pick(random, 0.3F, 1);
        params.dynatemp_exponent = pick(random, 1, 2);
      },
      3e-3);
}
TEST(SamplerStages, AnyOrderOfAllIsThatOrder) {
  check_stage([](SamplingParams& params, std::mt19937_64& random) {
    params = {.temperature = pick(random, 0.5F, 2),
              .top_k = static_cast<int32_t>(random() % 3000) + 1,
              .top_p = pick(random, 0.5F, 1),
              .min_p = pick(random, 0, 0.1F),
              .typical_p = pick(random, 0.5F, 1),
              .top_n_sigma = pick(random, 1, 5),
              .xtc_probability = 0.5F,
              .xtc_threshold = pick(random, 0.01F, 0.3F),
              .seed = random(),
              .stages = default_stages()};
    std::ranges::shuffle(params.stages, random);
  });
}

TEST(SamplerStages, TheOrderMatters) {
  SamplerScratch scratch;
  SamplingParams params = off();
  params.temperature = 4;
  params.top_p = 0.8F;
  const std::vector<float> logits = {4, 2, 1, 0};
  EXPECT_EQ(Sampler(params).distribution(logits, {}, 0, scratch)->size(), 1u);
  params.stages = *parse_stages("temperature;top_p");
  EXPECT_EQ(Sampler(params).distribution(logits, {}, 0, scratch)->size(), 3u);
}

TEST(SamplerStages, AStageThatIsNotListedDoesNotRun) {
  SamplerScratch scratch;
  SamplingParams params;
  params.top_k = 1;
  params.stages = {SamplerStage::kTemperature};
  EXPECT_EQ(Sampler(params).distribution(std::vector<float>{1, 1, 1}, {}, 0, scratch)->size(), 3u);
}

TEST(SamplerStages, AmongTiesTheLowestIdsStay) {
  SamplerScratch scratch;
  for (const size_t count : {4u, 3000u}) {
    const std::vector<float> logits(count, 1.5F);
    for (const bool is_top_k : {true, false}) {
      SamplingParams params = off();
      if (is_top_k) params.top_k = 2;
      if (!is_top_k) params.top_p = 1.5F / static_cast<float>(count);
      const auto found = *Sampler(params).distribution(logits, {}, 0, scratch);
      ASSERT_EQ(found.size(), 2u);
      EXPECT_EQ(found[0].id, 0);
      EXPECT_EQ(found[1].id, 1);
    }
  }
}

TEST(SamplerStages, MinusInfinityIsNeverDrawnAndDisturbsNoStage) {
  SamplerScratch scratch;
  std::mt19937_64 random(5);
  std::vector<float> logits = random_logits(random, 3000, false);
  for (size_t i = 0; i < logits.size(); i += 2)
    logits[i] = -std::numeric_limits<float>::infinity();
  for (const char* stage : {"top_k", "top_p", "min_p", "typ_p", "top_n_sigma", "xtc", "temp"}) {
    SamplingParams params{.temperature = 0.7F,
                          .top_k = 2900,
                          .top_p = 0.9999F,
                          .min_p = 1e-9F,
                          .typical_p = 0.9999F,
                          .top_n_sigma = 100,
                          .xtc_probability = 1,
                          .xtc_threshold = 0.0001F,
                          .stages = *parse_stages(stage)};
    const auto found = *Sampler(params).distribution(logits, {}, 0, scratch);
    for (const auto& token : found)
      EXPECT_EQ(token.id % 2, 1) << stage;
  }
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "engine/sampler_penalties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "engine/sampler_candidates.h"

namespace ingot {
namespace {

using Ids = std::vector<TokenId>;

// The logits after one of the stages.
template <class Stage>
std::vector<float> after(const std::vector<float>& logits, Stage&& stage) {
  Candidates candidates;
  EXPECT_TRUE(candidates.start(logits));
  stage(candidates);
  return {candidates.logits().begin(), candidates.logits().end()};
}

std::vector<float> penalized(const SamplingParams& params, const std::vector<float>& logits,
                             const Ids& history, size_t prompt_size = 0) {
  PenaltyScratch scratch;
  return after(logits, [&](Candidates& candidates) {
    apply_penalties(params, {history, prompt_size}, scratch, candidates);
  });
}

std::vector<float> dried(SamplingParams params, size_t vocab, const Ids& history) {
  PenaltyScratch scratch;
  std::ranges::sort(params.dry_breakers);
  return after(std::vector<float>(vocab, 0.0F), [&](Candidates& candidates) {
    apply_dry(params, {history, 0}, scratch, candidates);
  });
}

std::vector<float> banned(const SamplingParams& params, const Ids& history, size_t prompt_size) {
  return after(std::vector<float>(6, 1.0F), [&](Candidates& candidates) {
    apply_bans(params, {history, prompt_size}, candidates);
  });
}

TEST(Penalties, RepetitionLowersSeenTokensWhateverTheirSign) {
  SamplingParams params;
  params.repetition_penalty = 2;
  EXPECT_THAT(penalized(params, {3, -1, 5}, {0, 1, 0}), testing::ElementsAre(1.5F, -2, 5));
}

TEST(Penalties, PresenceCountsOnceAndFrequencyEachTime) {
  SamplingParams params;
  params.presence_penalty = 0.5F;
  params.frequency_penalty = 0.25F;
  EXPECT_THAT(penalized(params, {3, 3, 3}, {0, 1, 0}), testing::ElementsAre(2, 2.25F, 3));
}

TEST(Penalties, ForgetWhatIsFartherBackThanTheirWindow) {
  SamplingParams params;
  params.presence_penalty = 1;
  params.repeat_last_n = 2;
  EXPECT_THAT(penalized(params, {3, 3, 3}, {0, 1, 2}), testing::ElementsAre(3, 2, 2));
  params.repeat_last_n = 0;
  EXPECT_THAT(penalized(params, {3, 3, 3}, {0, 1, 2}), testing::ElementsAre(3, 3, 3));
  params.repeat_last_n = -1;
  EXPECT_THAT(penalized(params, {3, 3, 3}, {0, 1, 2}), testing::ElementsAre(2, 2, 2));
}

TEST(Penalties, PresenceAndFrequencyCanSpareThePromptAsRepetitionDoesNot) {
  SamplingParams params;
  params.penalize_prompt = false;
  params.presence_penalty = 1;
  EXPECT_THAT(penalized(params, {3, 3, 3}, {0, 1, 2}, 2), testing::ElementsAre(3, 3, 2));
  params.repetition_penalty = 3;
  EXPECT_THAT(penalized(params, {3, 3, 3}, {0, 1, 2}, 2), testing::ElementsAre(1, 1, 0));
}

TEST(Penalties, ApplyToWhatEarlierStagesLeft) {
  SamplingParams params;
  params.presence_penalty = 10;
  PenaltyScratch scratch;
  const std::vector<float> logits = {1, 5, 4, 2};
  Candidates candidates;
  ASSERT_TRUE(candidates.start(logits));
  candidates.multiply_scale(0.5);
  candidates.keep_best(2);
  const Ids history = {1, 3, 77};  // an id outside the vocabulary does no harm
  apply_penalties(params, {history, 0}, scratch, candidates);
  ASSERT_EQ(candidates.size(), 2u);
  EXPECT_EQ(candidates.id(0), 1);
  EXPECT_EQ(candidates.logits()[0], 2.5F - 10);  // temperature came first
  EXPECT_EQ(candidates.logits()[1], 2);
  EXPECT_EQ(candidates.best(), 2);
}

TEST(Dry, PenalizesTheTokenThatWouldGoOnRepeating) {
  SamplingParams params;
  params.dry_multiplier = 0.5F;
  params.dry_base = 2;
  // 1 2 3 came before 4; after another 1 2 3, token 4 makes a repeat of 3 longer.
  const std::vector<float> found = dried(params, 6, {1, 2, 3, 4, 5, 1, 2, 3});
  EXPECT_FLOAT_EQ(found[4], -0.5F * 2);  // 0.5 * 2^(3 - 2)
  EXPECT_EQ(found[5], 0);
  EXPECT_EQ(std::ranges::count(found, 0.0F), 5);
}

TEST(Dry, LeavesShortRepeatsAndSmallWindowsAlone) {
  SamplingParams params;
  params.dry_multiplier = 1;
  EXPECT_EQ(std::ranges::count(dried(params, 6, {1, 4, 5, 1}), 0.0F), 6);  // one token
  params.dry_penalty_last_n = 5;
  EXPECT_EQ(std::ranges::count(dried(params, 6, {1, 2, 3, 4, 5, 1, 2, 3}), 0.0F), 6);
  params.dry_penalty_last_n = -1;
  params.dry_allowed_length = 3;
  EXPECT_FLOAT_EQ(dried(params, 6, {1, 2, 3, 4, 5, 1, 2, 3})[4], -1);
}

TEST(Dry, BreakersEndRepeatsAndAreNotPenalized) {
  SamplingParams params;
  params.dry_multiplier = 1;
  params.dry_breakers = {{1}};
  EXPECT_FLOAT_EQ(dried(params, 6, {1, 2, 3, 4, 5, 1, 2, 3})[4], -1);  // only 2 3 repeat
  params.dry_breakers = {{2}};
  EXPECT_EQ(dried(params, 6, {1, 2, 3, 4, 5, 1, 2, 3})[4], 0);
  params.dry_breakers = {{4}};  // the token itself
  EXPECT_EQ(dried(params, 6, {1, 2, 3, 4, 5, 1, 2, 3})[4], 0);
  params.dry_breakers = {{1, 2}, {1}};  // the longest counts: only 3 repeats
  EXPECT_EQ(dried(params, 6, {1, 2, 3, 4, 5, 1, 2, 3})[4], 0);
}

TEST(Dry, BreakersOfSeveralTokensAreFoundWhereTheyEnd) {
  const std::vector<Ids> breakers = {{1}, {1, 2, 3}, {5, 6}};
  EXPECT_EQ(tokens_since_breaker(Ids{1, 2, 3, 4}, breakers), 1u);
  EXPECT_EQ(tokens_since_breaker(Ids{1, 2, 4, 4}, breakers), 3u);
  EXPECT_EQ(tokens_since_breaker(Ids{5, 4, 4}, breakers), 3u);
  EXPECT_EQ(tokens_since_breaker(Ids{9, 5, 6}, breakers), 0u);
  EXPECT_EQ(tokens_since_breaker(Ids{9, 5}, breakers), 2u);
  EXPECT_EQ(tokens_since_breaker(Ids{}, breakers), 0u);
}

TEST(Dry, IsItsDefinitionOnRandomTexts) {
  std::mt19937_64 random(std::random_device{}());
  for (int trial = 0; trial < 300; ++trial) {
    Ids history(random() % 60);
    for (TokenId& id : history)
      id = static_cast<TokenId>(random() % 3);
    SamplingParams params;
    params.dry_multiplier = 0.8F;
    params.dry_base = 1.5F;
    params.dry_allowed_length = static_cast<int32_t>(random() % 4) + 1;
    params.dry_penalty_last_n = random() % 2 == 0 ? -1 : static_cast<int32_t>(random() % 50) + 1;
    if (random() % 2 == 0) params.dry_breakers = {{2, 2}};
    // Every earlier place is compared with the end, token by token.
    Ids window = history;
    if (params.dry_penalty_last_n > 0 && std::ssize(window) > params.dry_penalty_last_n)
      window.erase(window.begin(), window.end() - params.dry_penalty_last_n);
    const size_t size = window.size();
    const size_t limit = tokens_since_breaker(window, params.dry_breakers);
    std::map<TokenId, size_t> longest;
    for (size_t next = 1; next < size; ++next) {  // the end's repeat would come before `next`
      size_t length = 0;
      while (length < next && window[next - 1 - length] == window[size - 1 - length])
        ++length;
      longest[window[next]] = std::max(longest[window[next]], std::min(length, limit));
    }
    const std::vector<float> found = dried(params, 3, history);
    for (TokenId id = 0; id < 3; ++id) {
      const auto repeat = static_cast<int64_t>(longest[id]);
      const double expected =
          repeat < params.dry_allowed_length
              ? 0
              : -0.8 * std::pow(1.5, static_cast<double>(repeat - params.dry_allowed_length));
      EXPECT_NEAR(found[static_cast<size_t>(id)], expected, 1e-5 * (1 - expected));
    }
  }
}

TEST(Bans, BiasesAddAndMinusInfinityBans) {
  SamplingParams params;
  params.logit_bias = {{1, 2.5F}, {2, -kInfinity}, {3, -100.0F}, {50, 1.0F}};
  EXPECT_THAT(banned(params, {}, 0), testing::ElementsAre(1, 3.5F, -kInfinity, -99, 1, 1));
}

TEST(Bans, EndsWaitForMinTokens) {
  SamplingParams params;
  params.eos_ids = {1};
  params.stop_token_ids = {2};
  params.min_tokens = 2;
  EXPECT_THAT(banned(params, {0, 0, 0}, 2),
              testing::ElementsAre(1, -kInfinity, -kInfinity, 1, 1, 1));
  EXPECT_THAT(banned(params, {0, 0, 0, 0}, 2), testing::Each(1.0F));
  params.ignore_eos = true;  // then it is no end
  EXPECT_THAT(banned(params, {0, 0, 0}, 2), testing::ElementsAre(1, 1, -kInfinity, 1, 1, 1));
}

TEST(Bans, BadWordsLoseTheirLastTokenWhenTheRestStandsThere) {
  SamplingParams params;
  params.bad_words = {{5}, {3, 4}, {0, 1, 2}};
  EXPECT_THAT(banned(params, {}, 0), testing::ElementsAre(1, 1, 1, 1, 1, -kInfinity));
  EXPECT_THAT(banned(params, {0, 3}, 0), testing::ElementsAre(1, 1, 1, 1, -kInfinity, -kInfinity));
  EXPECT_THAT(banned(params, {0, 1}, 0), testing::ElementsAre(1, 1, -kInfinity, 1, 1, -kInfinity));
  EXPECT_THAT(banned(params, {0, 1}, 1), testing::ElementsAre(1, 1, 1, 1, 1, -kInfinity));
}

}  // namespace
}  // namespace ingot

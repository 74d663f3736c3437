// SPDX-License-Identifier: Apache-2.0
#include "engine/beam_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/random.h"

namespace ingot {
namespace {

using testing::ElementsAre;

// A toy model: the log-probabilities of 4 tokens, a function of the ids so far.
constexpr TokenId kVocab = 4;
std::vector<TokenLogprob> next_tokens(uint64_t seed, const std::vector<TokenId>& ids) {
  uint64_t key = seed;
  for (const TokenId id : ids)
    key = random_bits(key, static_cast<uint64_t>(id) + 1);
  std::vector<TokenLogprob> list;
  double sum = 0;
  for (TokenId id = 0; id < kVocab; ++id) {
    const double weight = 0.05 + uniform(key, static_cast<uint64_t>(id) + 100);
    list.push_back({id, static_cast<float>(weight)});
    sum += weight;
  }
  for (TokenLogprob& token : list)
    token.logprob = static_cast<float>(std::log(static_cast<double>(token.logprob) / sum));
  return list;
}

std::vector<BeamHypothesis> search(uint64_t seed, const BeamParams& params) {
  BeamSearch beams(params);
  std::vector<std::vector<TokenId>> live = {{}};
  while (!beams.is_done()) {
    std::vector<std::vector<TokenLogprob>> lists;
    lists.reserve(live.size());
    for (const std::vector<TokenId>& ids : live)
      lists.push_back(next_tokens(seed, ids));
    const std::vector<BeamInput> inputs(lists.begin(), lists.end());
    std::vector<std::vector<TokenId>> next;
    for (const BeamChoice& choice : beams.advance(inputs)) {
      next.push_back(live[choice.parent]);
      next.back().push_back(choice.token);
    }
    live = std::move(next);
    EXPECT_EQ(beams.live(), live.size());
  }
  return beams.finished();
}

void enumerate(uint64_t seed, const BeamParams& params, std::vector<TokenId>& ids, double logprob,
               std::vector<BeamHypothesis>& all) {
  for (const TokenLogprob& token : next_tokens(seed, ids)) {
    ids.push_back(token.id);
    const double sum = logprob + static_cast<double>(token.logprob);
    const bool is_end = token.id == params.stop_ids[0];
    if (is_end || std::ssize(ids) == params.max_tokens) {
      const auto length = static_cast<double>(std::ssize(ids) - (is_end ? 1 : 0));
      const double score = sum / std::pow(std::max(1.0, length), params.length_penalty);
      all.push_back({ids, sum, score, is_end});
    } else {
      enumerate(seed, params, ids, sum, all);
    }
    ids.pop_back();
  }
}

TEST(BeamSearch, FindsWhatBruteForceFindsWhenTheBeamHoldsEverything) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    for (const double penalty : {0.0, 1.0, 2.0, -1.0}) {
      BeamParams params{.width = 64, .length_penalty = penalty, .max_tokens = 4, .stop_ids = {2}};
      std::vector<BeamHypothesis> all;
      std::vector<TokenId> ids;
      enumerate(seed, params, ids, 0, all);
      std::ranges::sort(all, std::ranges::greater{}, &BeamHypothesis::score);
      const std::vector<BeamHypothesis> found = search(seed, params);
      ASSERT_EQ(found.size(), std::min<size_t>(all.size(), 64));
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].ids, all[i].ids) << seed << " place " << i;
        EXPECT_NEAR(found[i].score, all[i].score, 1e-12);
        EXPECT_EQ(found[i].has_stopped, all[i].has_stopped);
      }
    }
  }
}

TEST(BeamSearch, StoppingWhenNothingCanImproveChangesNoResult) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    for (const double penalty : {0.0, 1.0, -1.0}) {
      BeamParams params{.width = 3, .length_penalty = penalty, .max_tokens = 8, .stop_ids = {2}};
      const std::vector<BeamHypothesis> found = search(seed, params);
      // The same search by hand, to the end.
      std::vector<BeamHypothesis> live(1);
      std::vector<BeamHypothesis> ended;
      const auto score = [&](double sum, size_t length) {
        return sum / std::pow(std::max(1.0, static_cast<double>(length)), penalty);
      };
      for (int64_t step = 0; step < params.max_tokens; ++step) {
        std::vector<BeamHypothesis> next;
        for (const BeamHypothesis& beam : live) {
          for (const TokenLogprob& token : next_tokens(seed, beam.ids)) {
            BeamHypothesis child = beam;
            child.ids.push_back(token.id);
            child.logprob += static_cast<double>(token.logprob);
            child.score = score(child.logprob, child.ids.size() - (token.id == 2 ? 1 : 0));
            (token.id == 2 ? ended : next).push_back(child);
          }
        }
        std::ranges::sort(next, std::ranges::greater{}, &BeamHypothesis::logprob);
        next.resize(std::min<size_t>(next.size(), 3));
        live = next;
      }
      ended.insert(ended.end(), live.begin(), live.end());
      std::ranges::sort(ended, std::ranges::greater{}, &BeamHypothesis::score);
      ASSERT_EQ(found.size(), 3u);
      for (size_t i = 0; i < 3; ++i)
        EXPECT_EQ(found[i].ids, ended[i].ids) << seed << " penalty " << penalty << " place " << i;
    }
  }
}

TEST(BeamSearch, FollowsAHandComputedCase) {
  BeamSearch beams({.width = 2, .length_penalty = 1, .max_tokens = 3, .stop_ids = {9}});
  EXPECT_EQ(beams.tokens_per_beam(), 4u);
  const std::vector<TokenLogprob> first = {{1, -0.5F}, {2, -1.0F}, {9, -2.0F}, {3, -3.0F}};
  const BeamInput one[] = {first};
  std::vector<BeamChoice> choices = beams.advance(one);
  ASSERT_EQ(choices.size(), 2u);
  EXPECT_EQ(choices[0].token, 1);
  EXPECT_EQ(choices[1].token, 2);
  ASSERT_EQ(beams.finished().size(), 1u);
  EXPECT_DOUBLE_EQ(beams.finished()[0].score, -2.0);  // no token but the end: length counts as 1

  const std::vector<TokenLogprob> after_1 = {{4, -2.0F}, {5, -2.5F}, {6, -4.0F}, {7, -5.0F}};
  const std::vector<TokenLogprob> after_2 = {{9, -0.25F}, {4, -1.0F}, {5, -4.0F}, {6, -5.0F}};
  const BeamInput two[] = {after_1, after_2};
  choices = beams.advance(two);  // sums: 2 4 -> -2, 1 4 -> -2.5; 2 ends at -1.25 / 1
  ASSERT_EQ(choices.size(), 2u);
  EXPECT_EQ(choices[0].parent, 1u);
  EXPECT_EQ(choices[0].token, 4);
  EXPECT_EQ(choices[1].parent, 0u);
  EXPECT_EQ(choices[1].token, 4);
  EXPECT_THAT(beams.finished()[0].ids, ElementsAre(2, 9));
  EXPECT_DOUBLE_EQ(beams.finished()[0].score, -1.25);

  const BeamInput three[] = {after_1, after_2};
  EXPECT_TRUE(beams.advance(three).empty());
  EXPECT_TRUE(beams.is_done());
  ASSERT_EQ(beams.finished().size(), 2u);
  EXPECT_THAT(beams.finished()[0].ids, ElementsAre(1, 4, 4));  // -3.5 / 3
  EXPECT_FALSE(beams.finished()[0].has_stopped);
  EXPECT_THAT(beams.finished()[1].ids, ElementsAre(2, 9));
}

TEST(BeamSearch, EarlyStoppingTakesTheFirstFinishedAnswers) {
  BeamSearch beams({.width = 1, .early_stopping = true, .max_tokens = 9, .stop_ids = {9}});
  const std::vector<TokenLogprob> list = {{1, -0.1F}, {9, -5.0F}};
  const BeamInput inputs[] = {list};
  EXPECT_TRUE(beams.advance(inputs).empty());
  EXPECT_THAT(beams.finished()[0].ids, ElementsAre(9));
}

TEST(BeamSearch, CountsThePromptIntoTheLengthWhenTold) {
  BeamSearch beams({.width = 1, .max_tokens = 1, .prompt_tokens = 9, .stop_ids = {}});
  const std::vector<TokenLogprob> list = {{1, -2.0F}};
  const BeamInput inputs[] = {list};
  beams.advance(inputs);
  EXPECT_DOUBLE_EQ(beams.finished()[0].score, -0.2);
}

TEST(BeamSearch, DropsBannedTokensAndEndsWhenNoneIsLeft) {
  BeamSearch beams({.width = 2, .max_tokens = 5, .stop_ids = {}});
  const std::vector<TokenLogprob> list = {{1, -INFINITY}, {2, NAN}};
  const BeamInput inputs[] = {list};
  EXPECT_TRUE(beams.advance(inputs).empty());
  EXPECT_TRUE(beams.is_done());
  EXPECT_TRUE(beams.finished().empty());
}

TEST(BeamSearch, RefusesParametersOutsideTheirRange) {
  EXPECT_TRUE(validate(BeamParams{}).is_ok());
  EXPECT_FALSE(validate(BeamParams{.width = 0}).is_ok());
  EXPECT_FALSE(validate(BeamParams{.width = 1000}).is_ok());
  EXPECT_FALSE(validate(BeamParams{.length_penalty = NAN}).is_ok());
  EXPECT_FALSE(validate(BeamParams{.max_tokens = 0}).is_ok());
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "eval/score_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ingot {
namespace {

using testing::HasSubstr;

TEST(ScoreWindows, ScoresTheSecondHalfOfEachChunkLikeLlamaPerplexity) {
  const auto windows = plan_windows(1700, {.context = 512, .bos = 1});
  ASSERT_TRUE(windows.is_ok());
  ASSERT_EQ(windows->size(), 3u);
  EXPECT_EQ((*windows)[2], (ScoreWindow{1024, 512, 257, BosUse::kReplacesFirst}));
  // n_ctx - n_ctx/2 - 1 tokens count in each chunk.
  EXPECT_EQ((*windows)[0].size - (*windows)[0].first_scored, 512 - 256 - 1);
}

TEST(ScoreWindows, LeavesTheFirstTokenAloneWithoutABos) {
  const auto windows = plan_windows(2000, {.context = 512, .bos = -1});
  ASSERT_TRUE(windows.is_ok());
  EXPECT_EQ(windows->front().bos, BosUse::kNone);
  const auto refused = plan_windows(2000, {.context = 512, .adds_bos = false, .bos = 1});
  ASSERT_TRUE(refused.is_ok());
  EXPECT_EQ(refused->front().bos, BosUse::kNone);
}

TEST(ScoreWindows, PredictsEveryTokenOfWholeWindows) {
  // 94 windows of bos + 1023 tokens: 96,162 tokens scored, the rest of the text is left out.
  const auto windows =
      plan_windows(96'999, {.protocol = Protocol::kWindows, .context = 1024, .bos = 1});
  ASSERT_TRUE(windows.is_ok());
  ASSERT_EQ(windows->size(), 94u);
  EXPECT_EQ(windows->back(), (ScoreWindow{95139, 1023, 0, BosUse::kPrepended}));
  const auto plain = plan_windows(2048, {.protocol = Protocol::kWindows, .context = 1024});
  ASSERT_TRUE(plain.is_ok());
  EXPECT_EQ(plain->back(), (ScoreWindow{1024, 1024, 1, BosUse::kNone}));
}

TEST(ScoreWindows, SlidesByTheStrideAndScoresOnlyTheNewTokens) {
  const auto windows = plan_windows(1300, {.context = 512, .stride = 256, .bos = 1});
  ASSERT_TRUE(windows.is_ok());
  ASSERT_EQ(windows->size(), 4u);  // ceil((1300 - 512) / 256)
  EXPECT_EQ((*windows)[1], (ScoreWindow{256, 512, 256, BosUse::kNone}));
  EXPECT_LE(windows->back().begin + windows->back().size, 1300);
}

TEST(ScoreWindows, TakesEveryTokenOnceInStridedWindowsOfHuggingFace) {
  // What transformers' loop gives: begin 0, 4, 8; targets 9, then 4, then the last 3.
  const auto windows =
      plan_windows(17, {.protocol = Protocol::kHuggingFace, .context = 10, .stride = 4, .bos = 1});
  ASSERT_TRUE(windows.is_ok());
  ASSERT_EQ(windows->size(), 3u);
  EXPECT_EQ((*windows)[0], (ScoreWindow{0, 10, 1, BosUse::kNone}));
  EXPECT_EQ((*windows)[1], (ScoreWindow{4, 10, 6, BosUse::kNone}));
  EXPECT_EQ((*windows)[2], (ScoreWindow{8, 9, 6, BosUse::kNone}));
  const auto whole =
      plan_windows(7, {.protocol = Protocol::kHuggingFace, .context = 10, .stride = 4});
  ASSERT_TRUE(whole.is_ok());
  EXPECT_EQ(whole->size(), 1u);
  for (int64_t tokens = 2; tokens < 60; ++tokens) {
    for (const int64_t stride : {1, 3, 7}) {
      const auto all = plan_windows(
          tokens, {.protocol = Protocol::kHuggingFace, .context = 8, .stride = stride});
      ASSERT_TRUE(all.is_ok());
      int64_t next = 1;
      for (const ScoreWindow& window : *all) {
        ASSERT_EQ(window.begin + window.first_scored, next);
        ASSERT_GE(window.first_scored, 1);
        next = window.begin + window.size;
      }
      EXPECT_EQ(next, tokens);
    }
  }
}

TEST(ScoreWindows, NeverReadsPastTheText) {
  for (int64_t tokens = 16; tokens < 80; ++tokens) {
    for (const int64_t stride : {0, 1, 3, 7}) {
      const auto windows = plan_windows(tokens, {.context = 8, .stride = stride});
      ASSERT_TRUE(windows.is_ok());
      EXPECT_LE(windows->back().begin + windows->back().size, tokens);
    }
  }
}

TEST(ScoreWindows, RefusesATextThatIsTooShortWithTheNumbers) {
  const auto windows = plan_windows(1023, {.context = 512});
  ASSERT_FALSE(windows.is_ok());
  EXPECT_THAT(windows.status().message(), HasSubstr("1023"));
  EXPECT_THAT(windows.status().message(), HasSubstr("1024"));
}

TEST(ScoreWindows, RefusesOptionsOutOfRange) {
  EXPECT_FALSE(plan_windows(100, {.context = 3}).is_ok());
  EXPECT_FALSE(plan_windows(100, {.context = 8, .stride = 8}).is_ok());
  EXPECT_FALSE(plan_windows(100, {.context = 8, .stride = -1}).is_ok());
  EXPECT_FALSE(
      plan_windows(100, {.protocol = Protocol::kWindows, .context = 8, .stride = 2}).is_ok());
  EXPECT_FALSE(plan_windows(100, {.context = 8, .max_chunks = 0}).is_ok());
  EXPECT_FALSE(plan_windows(100, {.protocol = Protocol::kHuggingFace, .context = 8}).is_ok());
  EXPECT_FALSE(
      plan_windows(1, {.protocol = Protocol::kHuggingFace, .context = 8, .stride = 4}).is_ok());
}

TEST(ScoreWindows, StopsAfterTheAskedNumberOfChunks) {
  const auto windows = plan_windows(100'000, {.context = 512, .max_chunks = 5});
  ASSERT_TRUE(windows.is_ok());
  EXPECT_EQ(windows->size(), 5u);
}

}  // namespace
}  // namespace ingot

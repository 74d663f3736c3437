// SPDX-License-Identifier: Apache-2.0
#include "bench/workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace ingot {
namespace {

WorkloadOptions options_of(WorkloadKind kind) {
  WorkloadOptions options = default_workload(kind);
  options.vocab = 1000;
  options.seed = 5;
  return options;
}

bool begins_with(const std::vector<TokenId>& text, const std::vector<TokenId>& prefix) {
  return text.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), text.begin());
}

TEST(Workload, NamesAreReadBack) {
  for (const char* name : {"random", "chat", "fewshot", "shared-prefix"})
    EXPECT_EQ(to_string(*parse_workload(name)), name);
  EXPECT_FALSE(parse_workload("nonsense").is_ok());
}

TEST(Workload, IsAPureFunctionOfItsSeed) {
  WorkloadOptions options = options_of(WorkloadKind::kRandom);
  const Workload a = make_workload(options);
  const Workload b = make_workload(options);
  options.seed = 6;
  const Workload c = make_workload(options);
  ASSERT_EQ(a.requests(), 16);
  EXPECT_EQ(a.conversations[3].turns[0].text, b.conversations[3].turns[0].text);
  EXPECT_NE(a.conversations[3].turns[0].text, c.conversations[3].turns[0].text);
  for (const Conversation& conversation : a.conversations) {
    EXPECT_GE(conversation.turns[0].text.size(), 128u);
    EXPECT_LE(conversation.turns[0].text.size(), 512u);
    for (const TokenId id : conversation.turns[0].text)
      ASSERT_TRUE(id >= 0 && id < 1000);
  }
}

TEST(Workload, GivesThePrefixToItsFractionOfPrompts) {
  WorkloadOptions options = options_of(WorkloadKind::kRandom);
  options.num_prompts = 40;
  options.shared_prefix = 64;
  options.prefix_fraction = 0.25;
  options.input = {8, 8, {}};
  const Workload workload = make_workload(options);
  const int64_t with_prefix = std::ranges::count_if(
      workload.conversations, [](const Conversation& c) { return c.turns[0].text.size() == 72; });
  EXPECT_EQ(with_prefix, 10);
  const int64_t early =
      std::count_if(workload.conversations.begin(), workload.conversations.begin() + 8,
                    [](const Conversation& c) { return c.turns[0].text.size() == 72; });
  EXPECT_EQ(early, 2);
}

TEST(Workload, UsersOfAChatShareTheSystemPromptAndNothingElse) {
  const WorkloadOptions options = options_of(WorkloadKind::kChat);
  const Workload workload = make_workload(options);
  ASSERT_EQ(workload.conversations.size(), 8u);
  EXPECT_EQ(workload.requests(), 48);
  const std::vector<TokenId>& first = workload.conversations[0].turns[0].text;
  const std::vector<TokenId> system(first.begin(), first.begin() + 256);
  std::set<std::vector<TokenId>> texts;
  for (const Conversation& conversation : workload.conversations) {
    ASSERT_EQ(conversation.turns.size(), 6u);
    EXPECT_TRUE(begins_with(conversation.turns[0].text, system));
    for (const Turn& turn : conversation.turns)
      texts.insert(turn.text);
  }
  EXPECT_EQ(texts.size(), 48u);
  EXPECT_FALSE(begins_with(workload.conversations[0].turns[1].text, system));
}

TEST(Workload, LongestCountsAnswersAndAllTurns) {
  const Workload workload{{{{{{1, 2, 3}, 4}, {{5}, 6}}}, {{{{1, 2}, 3}}}}};
  EXPECT_EQ(workload.longest(), 14);
  EXPECT_EQ(workload.output_tokens(), 13);
  EXPECT_EQ(workload.requests(), 3);
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "eval/score_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace ingot {
namespace {

ScoreSequence sequence(int64_t size, int64_t first_row) {
  return {std::vector<TokenId>(static_cast<size_t>(size), 7), first_row};
}

TEST(ScorePlan, TakesSeveralShortSequencesInOnePass) {
  const std::vector sequences(5, sequence(8, 4));
  ScorePlan plan(sequences, {.slots = 2, .batch_tokens = 16, .logit_rows = 100});
  EXPECT_EQ(plan.next().size(), 2u);
  EXPECT_EQ(plan.next().size(), 2u);
  const std::vector<ScorePart> last = plan.next();
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].sequence, 4u);
  EXPECT_EQ(last[0].first_row, 4);
  EXPECT_TRUE(plan.next().empty());
}

TEST(ScorePlan, ComputesEveryTokenOnceInOrderWithinItsBounds) {
  std::mt19937 random(5);
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<ScoreSequence> sequences;
    for (int64_t i = draw(0, 9); i > 0; --i) {
      const int64_t size = draw(0, 40);
      sequences.push_back(sequence(size, draw(0, size)));
    }
    const ScorePlanOptions options{draw(1, 4), draw(1, 50), draw(1, 20)};
    ScorePlan plan(sequences, options);
    std::vector<int64_t> computed(sequences.size());
    std::vector<int64_t> wanted(sequences.size());
    std::map<size_t, size_t> owner;  // of a slot, while its sequence is not done
    for (std::vector<ScorePart> parts = plan.next(); !parts.empty(); parts = plan.next()) {
      int64_t tokens = 0;
      int64_t rows = 0;
      for (const ScorePart& part : parts) {
        ASSERT_LT(part.slot, static_cast<size_t>(options.slots));
        const auto [entry, is_free] = owner.emplace(part.slot, part.sequence);
        ASSERT_TRUE(is_free || entry->second == part.sequence);
        ASSERT_EQ(part.begin, computed[part.sequence]);
        ASSERT_LE(part.begin, part.first_row);
        ASSERT_LE(part.first_row, part.end);
        computed[part.sequence] = part.end;
        wanted[part.sequence] += part.end - part.first_row;
        tokens += part.end - part.begin;
        rows += part.end - part.first_row;
        if (part.end == static_cast<int64_t>(sequences[part.sequence].tokens.size()))
          owner.erase(part.slot);
      }
      ASSERT_LE(tokens, options.batch_tokens);
      ASSERT_LE(rows, options.logit_rows);
    }
    for (size_t i = 0; i < sequences.size(); ++i) {
      const auto size = static_cast<int64_t>(sequences[i].tokens.size());
      EXPECT_EQ(computed[i], size);
      EXPECT_EQ(wanted[i], size - sequences[i].first_row);
    }
  }
}

}  // namespace
}  // namespace ingot

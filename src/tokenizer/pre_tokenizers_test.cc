// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/pre_tokenizers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/unicode.h"

namespace ingot::tok {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> split(const PreTokenizerPtr& step, std::string text,
                               bool is_at_start = true) {
  PieceList list(std::move(text), is_at_start ? 1 : 0);
  const Status status = step->apply(list);
  EXPECT_TRUE(status) << status.message();
  std::vector<std::string> out;
  for (const Piece& piece : list.pieces)
    out.emplace_back(list.view(piece));
  return out;
}

std::vector<std::string> at_dashes(SplitBehavior behavior, bool invert = false) {
  return split(make_split(SplitPattern::literal("-"), behavior, invert), "the-final--countdown");
}

TEST(Split, EveryBehaviorPlacesTheDelimiter) {
  EXPECT_THAT(at_dashes(SplitBehavior::kRemoved), ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(at_dashes(SplitBehavior::kIsolated),
              ElementsAre("the", "-", "final", "-", "-", "countdown"));
  EXPECT_THAT(at_dashes(SplitBehavior::kMergedWithPrevious),
              ElementsAre("the-", "final-", "-", "countdown"));
  EXPECT_THAT(at_dashes(SplitBehavior::kMergedWithNext),
              ElementsAre("the", "-final", "-", "-countdown"));
  EXPECT_THAT(at_dashes(SplitBehavior::kContiguous),
              ElementsAre("the", "-", "final", "--", "countdown"));
  EXPECT_THAT(at_dashes(SplitBehavior::kRemoved, true), ElementsAre("-", "-", "-"));
}

TEST(ByteLevel, SplitsLikeGpt2AndSpellsBytes) {
  EXPECT_THAT(split(make_byte_level(false, true), "Hello my  \u00e9"),
              ElementsAre("Hello", "\u0120my", "\u0120", "\u0120\u00c3\u00a9"));
  EXPECT_THAT(split(make_byte_level(true, false), "a b"), ElementsAre("\u0120a\u0120b"));
  EXPECT_THAT(split(make_byte_level(true, true), ""), IsEmpty());
}

TEST(Metaspace, PrependsByItsScheme) {
  const auto always = make_metaspace("\u2581", PrependScheme::kAlways, true);
  const auto first = make_metaspace("\u2581", PrependScheme::kFirst, true);
  const auto never = make_metaspace("\u2581", PrependScheme::kNever, false);
  EXPECT_THAT(split(always, "Hey you"), ElementsAre("\u2581Hey", "\u2581you"));
  EXPECT_THAT(split(always, " Hey"), ElementsAre("\u2581Hey"));
  EXPECT_THAT(split(first, "Hey"), ElementsAre("\u2581Hey"));
  EXPECT_THAT(split(first, "Hey", false), ElementsAre("Hey"));
  EXPECT_THAT(split(never, "Hey you"), ElementsAre("Hey\u2581you"));
}

TEST(CharSplits, FollowTheirClasses) {
  EXPECT_THAT(split(make_whitespace(), "How's it,  going?\u0301"),
              ElementsAre("How", "'", "s", "it", ",", "going", "?", "\u0301"));
  EXPECT_THAT(split(make_char_split(is_space, SplitBehavior::kRemoved), " a\u3000b,c "),
              ElementsAre("a", "b,c"));
  EXPECT_THAT(split(make_char_split(is_numeric, SplitBehavior::kIsolated), "a12\u00bdb"),
              ElementsAre("a", "1", "2", "\u00bd", "b"));
  EXPECT_THAT(split(make_char_split(is_numeric, SplitBehavior::kContiguous), "a12b"),
              ElementsAre("a", "12", "b"));
  EXPECT_THAT(split(make_char_split(is_bert_punctuation, SplitBehavior::kIsolated), "a,\u2026$b"),
              ElementsAre("a", ",", "\u2026", "$", "b"));
}

TEST(FixedLength, CountsCharacters) {
  EXPECT_THAT(split(make_fixed_length(2), "a\u00e9\u6f22bc"),
              ElementsAre("a\u00e9", "\u6f22b", "c"));
}

TEST(UnicodeScripts, CutsWhereTheScriptChanges) {
  const Result<PreTokenizerPtr> scripts = make_unicode_scripts("test");
  ASSERT_TRUE(scripts) << scripts.status().message();
  EXPECT_THAT(split(*scripts, "\u3069\u3053\u3067\u751f\u307e\u308c\u3002Yes"),
              ElementsAre("\u3069\u3053\u3067\u751f\u307e\u308c", "\u3002", "Yes"));
  EXPECT_THAT(split(*scripts, "Apples are \u308a\u3093\u3054 \u6797\u6a8e"),
              ElementsAre("Apples are ", "\u308a\u3093\u3054 \u6797\u6a8e"));
}

TEST(PieceList, StepsWorkOnThePiecesOfTheLast) {
  PieceList list("ab 12", 1);
  ASSERT_TRUE(make_char_split(is_space, SplitBehavior::kRemoved)->apply(list));
  ASSERT_TRUE(make_byte_level(true, false)->apply(list));
  ASSERT_EQ(list.pieces.size(), 2U);
  EXPECT_EQ(list.view(list.pieces[1]), "\u012012");
}

}  // namespace
}  // namespace ingot::tok

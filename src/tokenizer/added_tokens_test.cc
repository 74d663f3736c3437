// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/added_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"

namespace ingot::tok {
namespace {

using ::testing::ElementsAre;

AddedTokens with(AddedToken token) {
  token.content = "<x>";
  token.normalized = false;
  AddedTokens added;
  EXPECT_TRUE(added.add({token}, {}, 10, Vocabulary(), "test"));
  return added;
}

std::vector<std::string> split(const AddedTokens& added, std::string_view text,
                               bool parse_special = true) {
  std::vector<std::string> out;
  for (const Segment& segment : added.split_raw(text, parse_special)) {
    const std::string part(text.substr(segment.begin, segment.end - segment.begin));
    out.push_back(segment.id >= 0 ? "[" + part + "]" : part);
  }
  return out;
}

TEST(AddedTokens, AreCutOutOfTheText) {
  EXPECT_THAT(split(with({}), "a <x> b<x>"), ElementsAre("a ", "[<x>]", " b", "[<x>]"));
}

TEST(AddedTokens, TakeWhiteSpaceAlong) {
  EXPECT_THAT(split(with({.lstrip = true}), "a \n<x> b"), ElementsAre("a", "[ \n<x>]", " b"));
  EXPECT_THAT(split(with({.rstrip = true}), "a <x> \u3000b"),
              ElementsAre("a ", "[<x> \u3000]", "b"));
  EXPECT_THAT(split(with({.lstrip = true, .rstrip = true}), "<x>  <x>"),
              ElementsAre("[<x>  ]", "[<x>]"));
}

TEST(AddedTokens, SingleWordsNeedABorder) {
  EXPECT_THAT(split(with({.single_word = true}), "a<x> <x>\u00e9 <x>."),
              ElementsAre("a<x> <x>\u00e9 ", "[<x>]", "."));
}

TEST(AddedTokens, SpecialOnesCanBeLeftAlone) {
  EXPECT_THAT(split(with({.special = true}), "a<x>", false), ElementsAre("a<x>"));
  EXPECT_THAT(split(with({.special = false}), "a<x>", false), ElementsAre("a", "[<x>]"));
}

TEST(AddedTokens, TheLongestOneWins) {
  AddedTokens added;
  std::vector<AddedToken> tokens(2);
  tokens[0].content = "<a";
  tokens[1].content = "<ab>";
  for (AddedToken& token : tokens)
    token.normalized = false;
  ASSERT_TRUE(added.add(tokens, {}, 0, Vocabulary(), "test"));
  EXPECT_THAT(split(added, "<ab><ac"), ElementsAre("[<ab>]", "[<a]", "c"));
}

TEST(AddedTokens, KeepTheVocabularysIdsAndContinueBehindThem) {
  Vocabulary vocabulary;
  ASSERT_TRUE(vocabulary.insert("a", 0, "test"));
  ASSERT_TRUE(vocabulary.insert("<s>", 1, "test"));
  std::vector<AddedToken> tokens(3);
  tokens[0].content = "<s>";
  tokens[1].content = "<new>";
  tokens[2].content = "<newer>";
  AddedTokens added;
  ASSERT_TRUE(added.add(tokens, {}, vocabulary.count(), vocabulary, "test"));
  EXPECT_EQ(added.find("<s>"), 1);
  EXPECT_EQ(added.find("<new>"), 2);
  EXPECT_EQ(added.find("<newer>"), 3);
  EXPECT_EQ(added.end_id(), 4U);
}

TEST(AddedTokens, NormalizedOnesAreFoundInNormalizedText) {
  std::vector<NormalizerPtr> normalizers;
  normalizers.push_back(make_lowercase());
  AddedToken token;
  token.content = "Day";
  AddedTokens added;
  ASSERT_TRUE(added.add({token}, normalizers, 0, Vocabulary(), "test"));
  EXPECT_EQ(added.split_raw("Day", true).front().id, -1);
  EXPECT_EQ(added.split_normalized("day", true).front().id, 0);
}

TEST(AddedTokens, OfEqualFormsTheLargestIdIsFound) {
  std::vector<NormalizerPtr> normalizers;
  normalizers.push_back(make_lowercase());
  normalizers.push_back(make_strip(true, true));
  std::vector<AddedToken> tokens;
  for (const char* content : {"AB", "ab", "Ab", " "})
    tokens.push_back({.content = content});
  AddedTokens added;
  ASSERT_TRUE(added.add(tokens, normalizers, 5, Vocabulary(), "test"));
  const std::vector<Segment> segments = added.split_normalized("xab x", true);
  ASSERT_EQ(segments.size(), 3U);  // and the one without a form is nowhere
  EXPECT_EQ(segments[1].id, 7);
}

TEST(AddedTokens, RefuseMoreThanTheirBounds) {
  AddedTokens added;
  AddedToken huge;
  huge.content = std::string(limits::kTokenBytes + 1, 'x');
  EXPECT_FALSE(added.add({huge}, {}, 0, Vocabulary(), "test"));
  EXPECT_FALSE(
      added.add(std::vector<AddedToken>(limits::kAddedTokens + 1), {}, 0, Vocabulary(), "test"));
  std::vector<AddedToken> many(80);
  for (size_t i = 0; i < many.size(); ++i) {
    many[i].content = std::string(60'000, 'x') + static_cast<char>('0' + i);
  }
  EXPECT_EQ(added.add(many, {}, 0, Vocabulary(), "test").code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace ingot::tok

// SPDX-License-Identifier: Apache-2.0
#include "api/token_sequences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ingot {
namespace {

using testing::ElementsAre;
using Ids = std::vector<TokenId>;

// "\u0120" is a space and "\u010a" a line's end in the byte alphabet.
std::shared_ptr<const Tokenizer> small_tokenizer() {
  auto loaded = Tokenizer::from_tokenizer_json(
      R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"\u0120":3,"\u0120a":4,"\u010a":5,
          "a\u010a":6,"\u0120ab":7},"merges":["a b","\u0120 a","a \u010a","\u0120 ab"]},
          "pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":false},
          "decoder":{"type":"ByteLevel"}})",
      "tokenizer.json");
  EXPECT_TRUE(loaded.is_ok()) << loaded.status().message();
  return *loaded;
}

TEST(BadWordIds, SpellAWordAtTheStartAndAfterASpace) {
  const std::string words[] = {"a", "b"};
  const auto ids = bad_word_ids(*small_tokenizer(), words);
  ASSERT_TRUE(ids.is_ok());
  // " b" is a space and "b": the plain word covers it.
  EXPECT_THAT(*ids, ElementsAre(Ids{4}, Ids{0}, Ids{1}));
  const std::string empty[] = {""};
  EXPECT_FALSE(bad_word_ids(*small_tokenizer(), empty).is_ok());
}

TEST(BreakerIds, AreAllTokensThatHoldOrBeginTheBreaker) {
  const std::string line[] = {"\n"};
  const auto lines = breaker_ids(*small_tokenizer(), line);
  ASSERT_TRUE(lines.is_ok());
  EXPECT_THAT(*lines, ElementsAre(Ids{5}, Ids{6}));
  const std::string word[] = {"ab"};
  const auto words = breaker_ids(*small_tokenizer(), word);
  ASSERT_TRUE(words.is_ok());
  EXPECT_THAT(*words, ElementsAre(Ids{0, 1}, Ids{2}, Ids{4, 1}, Ids{7}));
}

TEST(BreakerIds, RefuseEmptyAndEndlessBreakers) {
  const std::string empty[] = {""};
  EXPECT_FALSE(breaker_ids(*small_tokenizer(), empty).is_ok());
  const std::string endless[] = {std::string(41, 'a')};
  EXPECT_FALSE(breaker_ids(*small_tokenizer(), endless).is_ok());
}

}  // namespace
}  // namespace ingot

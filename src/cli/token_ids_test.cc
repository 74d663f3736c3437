// SPDX-License-Identifier: Apache-2.0
#include "cli/token_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ingot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TokenIds, ReadsEveryCommonSpelling) {
  for (const std::string_view text :
       {"1,5,9", "1 5 9\n", " [1, 5, 9] ", "1, 5,\t9,", R"({"ids":[1,5,9],"tokens":["a"]})"}) {
    const auto ids = parse_token_ids(text, "stdin");
    ASSERT_TRUE(ids.is_ok()) << text;
    EXPECT_THAT(*ids, ElementsAre(1, 5, 9)) << text;
  }
}

TEST(TokenIds, RefusesWhatIsNoIdAndNamesIt) {
  for (const std::string_view text : {"1,x", "-4", "99999999999", "1.5", "[1,2", "{}"}) {
    const auto ids = parse_token_ids(text, "--prompt-ids");
    ASSERT_FALSE(ids.is_ok()) << text;
    EXPECT_THAT(ids.status().message(), HasSubstr("--prompt-ids"));
  }
}

TEST(TokenIds, AnEmptyListIsEmpty) {
  EXPECT_TRUE(parse_token_ids("", "stdin")->empty());
  EXPECT_TRUE(parse_token_ids("[]", "stdin")->empty());
}

TEST(TokenIds, JoinsWithSpaces) {
  const std::vector<TokenId> ids = {1, 5, 9};
  EXPECT_EQ(join_token_ids(ids), "1 5 9");
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/oniguruma.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/regex.h"

namespace ingot::tok {
namespace {

using ::testing::ElementsAre;

// Every stretch of the text, matches in brackets.
std::vector<std::string> pieces(std::string_view pattern, std::string_view text) {
  const Result<Regex> regex = Regex::compile(pattern, "test");
  EXPECT_TRUE(regex) << regex.status().message();
  if (!regex) return {};
  std::vector<Span> spans;
  EXPECT_TRUE(regex->find_all(text, spans));
  std::vector<std::string> out;
  for (const Span& span : spans) {
    const std::string part(text.substr(span.begin, span.end - span.begin));
    out.push_back(span.is_match ? "[" + part + "]" : part);
  }
  return out;
}

TEST(Oniguruma, WhiteSpaceIsTheUnicodeProperty) {
  EXPECT_THAT(pieces(R"(\s+)", "a\u0085\u3000b\u180e"),
              ElementsAre("a", "[\u0085\u3000]", "b\u180e"));
  EXPECT_THAT(pieces(R"([\S]+)", " a\u180e "), ElementsAre(" ", "[a\u180e]", " "));
}

TEST(Oniguruma, WordsHoldMarksButNotJoiners) {
  EXPECT_THAT(pieces(R"(\w+)", "a\u0301_b\u200dc"), ElementsAre("[a\u0301_b]", "\u200d", "[c]"));
  EXPECT_THAT(pieces(R"([^\W\d]+)", "ab12c"), ElementsAre("[ab]", "12", "[c]"));
  EXPECT_THAT(pieces(R"(\bb)", "ab b"), ElementsAre("ab ", "[b]"));
}

TEST(Oniguruma, ClassesIntersectAndNest) {
  EXPECT_THAT(pieces(R"([\p{L}&&[^\p{Han}]]+)", "ab漢c"), ElementsAre("[ab]", "漢", "[c]"));
  EXPECT_THAT(pieces(R"([a-z&&aeiou]+)", "bead"), ElementsAre("b", "[ea]", "d"));
  EXPECT_THAT(pieces(R"([^[a-c]d]+)", "adxyb"), ElementsAre("ad", "[xy]", "b"));
  EXPECT_THAT(pieces(R"([[:punct:]]+)", "a.$b"), ElementsAre("a", "[.$]", "b"));
}

TEST(Oniguruma, SharedLettersMeanTheirOwnThings) {
  EXPECT_THAT(pieces(R"(\h+)", "xyz12af \t"), ElementsAre("xyz", "[12af]", " \t"));
  EXPECT_THAT(pieces(R"((?m:a.b))", "a\nb"), ElementsAre("[a\nb]"));
  EXPECT_THAT(pieces(R"(\s+$)", "a \nb "), ElementsAre("a", "[ ]", "\nb", "[ ]"));
  EXPECT_THAT(pieces(R"(a(?i)b|c)", "aC"), ElementsAre("[aC]"));
}

TEST(Oniguruma, IntervalsRepeatInsteadOfPossessing) {
  EXPECT_THAT(pieces(R"(\p{N}{1,3}+)", "a12345678"), ElementsAre("a", "[12345678]"));
  EXPECT_THAT(pieces(R"(xa{,2})", "xaaa"), ElementsAre("[xaa]", "a"));
  EXPECT_THAT(pieces(R"(xa{2}?b)", "xb xaab"), ElementsAre("[xb]", " ", "[xaab]"));
}

TEST(Oniguruma, EmptyMatchesCutWithoutRepeating) {
  EXPECT_THAT(pieces(R"((?=(\d{3})+(?!\d)))", "1234567"),
              ElementsAre("1", "[]", "234", "[]", "567"));
}

TEST(Oniguruma, RefusesWhatItCannotSay) {
  for (const char* pattern :
       {"(?s:a)", "[a", "(a", "a)", "*a", R"(\p{Nonsense})", R"([b-a])", "[]", R"(\y)"}) {
    EXPECT_FALSE(Regex::compile(pattern, "test")) << pattern;
  }
  EXPECT_FALSE(pcre_from_oniguruma(std::string(5000, '(')));
  EXPECT_FALSE(pcre_from_oniguruma(std::string(5000, '[')));
}

TEST(Oniguruma, GivesUpOnCatastrophesWithAnError) {
  const Result<Regex> regex = Regex::compile("(?:a+)+$", "test");
  ASSERT_TRUE(regex);
  std::vector<Span> spans;
  const Status status = regex->find_all(std::string(64, 'a') + "b", spans);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.message();
}

}  // namespace
}  // namespace ingot::tok

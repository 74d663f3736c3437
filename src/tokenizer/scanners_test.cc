// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/scanners.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tokenizer/known_patterns.h"
#include "tokenizer/regex.h"

namespace ingot::tok {
namespace {

// What the patterns tell apart: each class, each special character, and what stands at their
// borders.
constexpr std::string_view kAlphabet[] = {
    "a",
    "b",
    "s",
    "t",
    "m",
    "d",
    "A",
    "S",
    "L",
    "l",
    "r",
    "e",
    "v",
    "E",
    "0",
    "1",
    "9",
    "'",
    "'s",
    "'LL",
    "'re",
    "'\u017f",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "\u00a0",
    "\u0085",
    "\u2003",
    "\u3000",
    "\u180e",
    "\u200b",
    "\u200d",
    ".",
    ",",
    "!",
    "/",
    "_",
    "-",
    "$",
    "+",
    "<",
    ">",
    "\\",
    "\u00e9",
    "\u00c9",
    "\u01c5",
    "\u02b0",
    "\u0301",
    "\u0903",
    "\u20dd",
    "\u6f22",
    "\u5b57",
    "\u3042",
    "\u30ab",
    "\ud55c",
    "\u0627",
    "\u0915",
    "\u0e01",
    "\u00b2",
    "\u00bd",
    "\u2167",
    "\u0663",
    "\u2460",
    "\u24b6",
    "\u20ac",
    "\u2026",
    "\U0001f600",
    "\U0001d400",
    std::string_view("\0", 1),
    "\u007f",
    "\ue000",
};

std::string random_text(std::mt19937& random) {
  std::string text;
  const size_t length = random() % 24;
  for (size_t i = 0; i < length; ++i)
    text += kAlphabet[random() % std::size(kAlphabet)];
  return text;
}

std::string shown(std::string_view text, const std::vector<Span>& spans) {
  std::string out;
  for (const Span& span : spans) {
    out += span.is_match ? "[" : "(";
    out += text.substr(span.begin, span.end - span.begin);
    out += span.is_match ? "]" : ")";
  }
  return out;
}

TEST(Scanners, EveryOneAgreesWithItsRegularExpression) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const std::string_view pattern : scanned_patterns()) {
    SCOPED_TRACE(pattern);
    const Result<Regex> regex = Regex::compile(pattern, "test");
    ASSERT_TRUE(regex) << regex.status().message();
    for (int i = 0; i < 2000; ++i) {
      const std::string text = random_text(random);
      std::vector<Span> expected;
      std::vector<Span> actual;
      ASSERT_TRUE(regex->find_all(text, expected));
      find_scanner(pattern)(text, actual);
      ASSERT_EQ(shown(text, actual), shown(text, expected)) << ::testing::PrintToString(text);
    }
  }
}

TEST(Scanners, AreFoundByExactTextOnly) {
  EXPECT_NE(find_scanner(patterns::kLlama3), nullptr);
  EXPECT_EQ(find_scanner(R"(\p{L}+)"), nullptr);
  EXPECT_EQ(find_scanner(std::string(patterns::kLlama3) + "|x"), nullptr);
}

}  // namespace
}  // namespace ingot::tok

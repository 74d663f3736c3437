// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/string_matcher.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace ingot::tok {
namespace {

// Leftmost, longest, straight from the definition.
std::string by_definition(const std::vector<std::string>& strings, std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t best = 0;
    for (const std::string& candidate : strings) {
      if (candidate.size() > best && text.substr(at).starts_with(candidate))
        best = candidate.size();
    }
    if (best == 0) {
      out += text[at++];
    } else {
      out += "[" + std::string(text.substr(at, best)) + "]";
      at += best;
    }
  }
  return out;
}

std::string by_matcher(const StringMatcher& matcher, std::string_view text) {
  std::string out;
  size_t at = 0;
  for (const StringMatcher::Match& match : matcher.find_all(text)) {
    out += text.substr(at, match.begin - at);
    out += "[" + std::string(text.substr(match.begin, match.end - match.begin)) + "]";
    at = match.end;
  }
  return out + std::string(text.substr(at));
}

TEST(StringMatcher, FindsTheLeftmostLongestStrings) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto word = [&](size_t most) {
    std::string text;
    for (size_t length = 1 + random() % most; length > 0; --length)
      text += "ab<"[random() % 3];
    return text;
  };
  for (int i = 0; i < 500; ++i) {
    std::vector<std::string> strings;
    for (size_t count = 1 + random() % 6; count > 0; --count)
      strings.push_back(word(5));
    std::vector<std::pair<std::string_view, uint32_t>> keys;
    keys.reserve(strings.size());
    for (const std::string& text : strings)
      keys.emplace_back(text, 7);
    const StringMatcher matcher(keys);
    const std::string text = word(30);
    ASSERT_EQ(by_matcher(matcher, text), by_definition(strings, text)) << text;
  }
}

TEST(StringMatcher, StaysLinearWhereStringsNearlyMatchEverywhere) {
  const std::string almost = std::string(50'000, 'a') + "b";
  const StringMatcher matcher({{almost, 1}, {"a", 2}});
  EXPECT_EQ(matcher.find_all(std::string(1'000'000, 'a')).size(), 1'000'000U);
}

TEST(StringMatcher, FindsNothingWithoutStrings) {
  EXPECT_TRUE(StringMatcher().find_all("abc").empty());
  EXPECT_TRUE(StringMatcher({{"", 1}}).find_all("abc").empty());
}

}  // namespace
}  // namespace ingot::tok

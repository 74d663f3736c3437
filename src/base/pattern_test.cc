// SPDX-License-Identifier: Apache-2.0
#include "base/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ingot {
namespace {

bool matches(std::string_view pattern, std::string_view name) {
  const auto parsed = Pattern::parse(pattern);
  EXPECT_TRUE(parsed.is_ok()) << parsed.status().message();
  return parsed.is_ok() && parsed->matches(name);
}

// What Python's re.match says of each.
TEST(Pattern, MatchesWhatPythonMatches) {
  const std::string name = "model.layers.18.self_attn.q_proj";
  EXPECT_TRUE(matches("", name));
  EXPECT_TRUE(matches("model", name));
  EXPECT_FALSE(matches("layers", name));
  EXPECT_TRUE(matches(".*layers", name));
  EXPECT_TRUE(matches(".*self_attn.(q|k|v)_proj$", name));
  EXPECT_FALSE(matches(".*self_attn.(k|v)_proj$", name));
  EXPECT_FALSE(matches(".*self_attn$", name));
  EXPECT_TRUE(matches(R"(.*\.18\..*q_proj)", name));
  EXPECT_FALSE(matches(R"(.*\.1\..*q_proj)", name));
  EXPECT_TRUE(matches(R"(model\.layers\.\d+\.self_attn\.[qkv]_proj)", name));
  EXPECT_TRUE(matches("^(?!.*mlp).*$", name));
  EXPECT_FALSE(matches("^(?!.*self_attn).*$", name));
  EXPECT_TRUE(matches("(?=.*18)model", name));
  EXPECT_TRUE(matches(R"(.*layers\.(1[0-9]|2\d)\..*)", name));
  EXPECT_FALSE(matches(R"(.*layers\.(0|[1-9])\..*)", name));
  EXPECT_TRUE(matches(R"((?:[a-z]+\.){2}18)", name));
  EXPECT_FALSE(matches(R"((?:[a-z]+\.){3}18)", name));
  EXPECT_TRUE(matches(R"((\w+\.)*?self_attn\b)", name));
  EXPECT_TRUE(matches("[^.]+.[^.]+.1?8{1,2}", name));
  EXPECT_TRUE(matches("model|x", name));
  EXPECT_TRUE(matches("(a*)*model", name));
  EXPECT_TRUE(matches("a{2}", "aa"));
  EXPECT_TRUE(matches("a{,3}b", "aaab"));
  EXPECT_FALSE(matches("a{,2}b", "aaab"));
  EXPECT_TRUE(matches("a{x", "a{x"));
  EXPECT_TRUE(matches("[]a]+$", "a]a"));
  EXPECT_TRUE(matches(R"([\w-]+$)", "a-b"));
  EXPECT_FALSE(matches("a+?$", "ab"));
}

TEST(Pattern, WhatIsNotUnderstoodIsRefused) {
  for (const char* wrong : {"(", ")", "a)", "[a", "*", "+a", "a**", "\\", "\\z", "(?P<n>a)",
                            "(?<=a)", "[b-a]", "a{3,2}"}) {
    EXPECT_FALSE(Pattern::parse(wrong).is_ok()) << wrong;
  }
  EXPECT_FALSE(Pattern::parse(std::string(5000, 'a')).is_ok());
  EXPECT_FALSE(Pattern::parse(std::string(100, '(') + std::string(100, ')')).is_ok());
}

TEST(Pattern, HostileOnesEnd) {
  const std::string name(400, 'a');
  EXPECT_FALSE(matches("(a+)+$", name + "b"));
  EXPECT_FALSE(matches("(a|aa)*$", name + "b"));
  EXPECT_FALSE(matches("(.*)*(.*)*(.*)*x", name));
  EXPECT_FALSE(matches("((a{0,999}){0,999}){0,999}x", name));
}

}  // namespace
}  // namespace ingot

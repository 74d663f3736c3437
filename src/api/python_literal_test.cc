// SPDX-License-Identifier: Apache-2.0
#include "api/python_literal.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/limits.h"

namespace ingot {
namespace {

TEST(PythonLiteral, KeywordsBecomeAnObject) {
  EXPECT_EQ(python_arguments(""), "{}");
  EXPECT_EQ(python_arguments(" \n"), "{}");
  EXPECT_EQ(python_arguments(R"(a=1, b = "x" ,c=None,)"), R"({"a": 1, "b": "x", "c": null})");
  EXPECT_EQ(python_arguments("a=[1, (2, 3,), [], ()], b={'k': {}, \"l\": True}"),
            R"({"a": [1, [2, 3], [], []], "b": {"k": {}, "l": true}})");
  EXPECT_EQ(python_arguments("a=-1.5e-3, b=.5, c=2., d=-.5, e=0, f=false"),
            R"({"a": -1.5e-3, "b": 0.5, "c": 2.0, "d": -0.5, "e": 0, "f": false})");
}

TEST(PythonLiteral, StringsKeepTheirMeaning) {
  const std::optional<std::string> text =
      python_arguments(R"(a='it\'s "q"', b="\n\x41\u00e9\q\\", c=')"
                       "\n"
                       R"(')");
  ASSERT_TRUE(text.has_value());
  const Json object = parse_json(*text, "test").value();
  EXPECT_EQ(object["a"], "it's \"q\"");
  EXPECT_EQ(object["b"], "\nA\xC3\xA9\\q\\");
  EXPECT_EQ(object["c"], "\n");
}

TEST(PythonLiteral, AnythingElseIsRefused) {
  for (const char* bad :
       {"1",     "a",     "a=",       "a=b",     "a=f(1)",   "a=1 b=2",   "a=01",
        "a=1+2", "a='x",  "a=[1",     "a=[1 2]", "a={1: 2}", "a={'k' 1}", "1a=2",
        "a=inf", "a=--1", "a='\\x4'", ",",       "a=1,,",    "a=1e",      "a=1_0"})
    EXPECT_EQ(python_arguments(bad), std::nullopt) << bad;
  EXPECT_TRUE(python_arguments("a=" + std::string(limits::kJsonDepth - 1, '[') +
                               std::string(limits::kJsonDepth - 1, ']'))
                  .has_value());
  EXPECT_FALSE(python_arguments("a=" + std::string(100000, '[')).has_value());
}

}  // namespace
}  // namespace ingot

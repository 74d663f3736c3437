// SPDX-License-Identifier: Apache-2.0
#include "cli/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ingot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<ConfigSetting> read(std::string_view text) {
  Result<std::vector<ConfigSetting>> settings = parse_config(text, "f.yaml");
  EXPECT_TRUE(settings.is_ok()) << settings.status().message();
  return settings.is_ok() ? *settings : std::vector<ConfigSetting>();
}

TEST(ConfigFile, ReadsTheSimpleFormOfYaml) {
  const auto settings = read(
      "---\n# comment\n\nmodel: /models/a b.gguf  # trailing\nport: 9000\r\n"
      "api-key: \"a#b\\\"c\\n\"\nhost: 'it''s'\n"
      "cors-origins:\n  - https://a.example\n  - 'b'  # two\nallowed-hosts:\n- x\n"
      "served-model-name: [a, \"b, c\", d]\nssl-certfile: \"\"\nempty: []\n");
  ASSERT_EQ(settings.size(), 9U);
  EXPECT_EQ(settings[0].key, "model");
  EXPECT_THAT(settings[0].values, ElementsAre("/models/a b.gguf"));
  EXPECT_EQ(settings[0].line, 4U);
  EXPECT_THAT(settings[1].values, ElementsAre("9000"));
  EXPECT_FALSE(settings[1].is_list);
  EXPECT_THAT(settings[2].values, ElementsAre("a#b\"c\n"));
  EXPECT_THAT(settings[3].values, ElementsAre("it's"));
  EXPECT_THAT(settings[4].values, ElementsAre("https://a.example", "b"));
  EXPECT_TRUE(settings[4].is_list);
  EXPECT_THAT(settings[5].values, ElementsAre("x"));
  EXPECT_THAT(settings[6].values, ElementsAre("a", "b, c", "d"));
  EXPECT_THAT(settings[7].values, ElementsAre(""));
  EXPECT_TRUE(settings[8].values.empty());
}

TEST(ConfigFile, ReadsTheSimpleFormOfToml) {
  const auto settings =
      read("port = 9000\nhost=\"::1\"\ncors-origins = ['a', 'b']\nno_check_tensors = true");
  ASSERT_EQ(settings.size(), 4U);
  EXPECT_THAT(settings[1].values, ElementsAre("::1"));
  EXPECT_THAT(settings[2].values, ElementsAre("a", "b"));
  EXPECT_EQ(settings[3].key, "no_check_tensors");
}

TEST(ConfigFile, AnErrorNamesTheLine) {
  for (const auto& [text, where] : std::vector<std::pair<std::string, std::string>>{
           {"port 80", "f.yaml:1: "},
           {"a: 1\nport:80", "f.yaml:2: "},
           {"a: 1\n\nb: \"x", "f.yaml:3: "},
           {"a: 'x", "f.yaml:1: "},
           {"a: \"\\x\"", "f.yaml:1: "},
           {"a: 1\na: 2", "f.yaml:2: 'a' stands twice"},
           {"a: null", "f.yaml:1: "},
           {"a = ", "f.yaml:1: "},
           {"a:\nb: 1", "'a' in line 1 has no value"},
           {"a:", "f.yaml: 'a' in line 1 has no value"},
           {"- x", "f.yaml:1: "},
           {"a: 1\n  - x", "f.yaml:2: "},
           {"a: 1\n  b: 2", "f.yaml:2: "},
           {"[serve]\na = 1", "f.yaml:1: there are no sections"},
           {"a: {b: 1}", "f.yaml:1: "},
           {"a: &x 1", "f.yaml:1: "},
           {"a: [1, 2", "f.yaml:1: "},
           {"a: [1 2], 3", "f.yaml:1: "},
           {"a: \"x\" y", "f.yaml:1: 'a' has something after its value"},
           {": 1", "f.yaml:1: "},
       }) {
    const auto settings = parse_config(text, "f.yaml");
    ASSERT_FALSE(settings.is_ok()) << text;
    EXPECT_THAT(settings.status().message(), HasSubstr(where)) << text;
  }
}

TEST(ConfigFile, WhatIsWrittenIsReadBack) {
  for (const char* value : {"", "null", "~", "a", "127.0.0.1", "a b", "a#b", "\"\\\n", "[x]",
                            "https://x:1/y", "- a", "\xc3\xa9", "true"}) {
    const auto settings = read(std::string("key: ") + config_value_text(value) + "\n");
    ASSERT_EQ(settings.size(), 1U) << value;
    EXPECT_THAT(settings[0].values, ElementsAre(value));
    const auto list = read(std::string("key: [") + config_value_text(value) + ", b]\n");
    ASSERT_EQ(list.size(), 1U) << value;
    EXPECT_THAT(list[0].values, ElementsAre(value, "b"));
  }
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "api/generation_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ingot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<GenerationDefaults> parse_defaults(std::string_view text) {
  INGOT_TRY(const Json json, parse_json(text, "generation_config.json"));
  return parse_generation_config(json, "generation_config.json");
}

TEST(GenerationDefaults, TakesWhatTheMakersSayAndKeepsTheRest) {
  const auto defaults =
      parse_defaults(R"({"temperature": 0.6, "top_k": 20, "eos_token_id": [2, 7]})");
  ASSERT_TRUE(defaults.is_ok()) << defaults.status().message();
  EXPECT_FLOAT_EQ(defaults->sampling.temperature, 0.6F);
  EXPECT_EQ(defaults->sampling.top_k, 20);
  EXPECT_FLOAT_EQ(defaults->sampling.top_p, SamplingParams{}.top_p);
  EXPECT_THAT(defaults->eos_ids, ElementsAre(2, 7));
}

TEST(GenerationDefaults, ReadsASingleEosAndIgnoresNulls) {
  const auto defaults = parse_defaults(R"({"eos_token_id": 2, "top_p": null, "top_k": -1})");
  ASSERT_TRUE(defaults.is_ok());
  EXPECT_THAT(defaults->eos_ids, ElementsAre(2));
  EXPECT_EQ(defaults->sampling.top_k, 0);
}

TEST(GenerationDefaults, NamesFileAndFieldOfABadValue) {
  for (const std::string_view text :
       {R"({"temperature": "hot"})", R"({"temperature": 1e300})", R"({"temperature": -1})"}) {
    const auto defaults = parse_defaults(text);
    ASSERT_FALSE(defaults.is_ok()) << text;
    EXPECT_THAT(defaults.status().message(), HasSubstr("generation_config.json"));
    EXPECT_THAT(defaults.status().message(), HasSubstr("temperature"));
  }
  EXPECT_FALSE(parse_defaults(R"({"eos_token_id": ["x"]})").is_ok());
  EXPECT_FALSE(parse_defaults(R"({"eos_token_id": -4})").is_ok());
  EXPECT_FALSE(parse_defaults("[]").is_ok());
}

}  // namespace
}  // namespace ingot

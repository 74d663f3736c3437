// SPDX-License-Identifier: Apache-2.0
#include "cli/sampling_flags.h"

#include <gtest/gtest.h>

#include <limits>

namespace ingot {
namespace {

TEST(SamplingFlags, SetsParametersByAnyOfTheirNames) {
  SamplingParams params;
  EXPECT_TRUE(set_sampling(params, "temperature", "0.25").is_ok());
  EXPECT_TRUE(set_sampling(params, "top_k", "7").is_ok());
  EXPECT_TRUE(set_sampling(params, "top-p", "0.5").is_ok());
  EXPECT_TRUE(set_sampling(params, "seed", "18446744073709551615").is_ok());
  EXPECT_FLOAT_EQ(params.temperature, 0.25F);
  EXPECT_EQ(params.top_k, 7);
  EXPECT_FLOAT_EQ(params.top_p, 0.5F);
  EXPECT_EQ(params.seed, UINT64_MAX);
}

TEST(SamplingFlags, RefusesBadValuesAndKeepsTheOldOnes) {
  SamplingParams params;
  for (const char* value : {"", "x", "1x", "-1", "nan", "1e99"})
    EXPECT_FALSE(set_sampling(params, "temp", value).is_ok()) << value;
  EXPECT_FALSE(set_sampling(params, "top_p", "1.5").is_ok());
  EXPECT_FALSE(set_sampling(params, "no_such", "1").is_ok());
  EXPECT_FLOAT_EQ(params.temperature, SamplingParams{}.temperature);
}

TEST(SamplingFlags, GivenValuesGoOverTheModelsDefaults) {
  CLI::App app;
  SamplingFlags flags;
  add_sampling_flags(app, flags);
  app.parse("--temp 0 --seed 3");
  const auto params = sampling_of(flags, SamplingParams{.temperature = 0.5F, .top_k = 9}, nullptr);
  ASSERT_TRUE(params.is_ok());
  EXPECT_EQ(params->temperature, 0);
  EXPECT_EQ(params->top_k, 9);
  EXPECT_EQ(params->seed, 3u);
  EXPECT_THROW(app.parse("--top-p 2"), CLI::ParseError);
}

TEST(SamplingFlags, TakesEveryParameterAndLists) {
  CLI::App app;
  SamplingFlags flags;
  add_sampling_flags(app, flags);
  app.parse(
      "--typical 0.9 --top-nsigma 2 --xtc-probability 0.5 --xtc-threshold 0.2 --dry-multiplier 0.8 "
      "--dry-sequence-breaker none --mirostat 2 --mirostat-ent 4 --min-tokens 3 --penalize-prompt "
      "0 "
      "--logit-bias 5+1.5 --logit-bias 6-inf --stop-token-ids 7,8 --samplers top_k;temperature "
      "--temp 1 --temp 2");
  const auto params = sampling_of(flags, {}, nullptr);
  ASSERT_TRUE(params.is_ok()) << params.status().message();
  EXPECT_FLOAT_EQ(params->typical_p, 0.9F);
  EXPECT_FLOAT_EQ(params->top_n_sigma, 2);
  EXPECT_FLOAT_EQ(params->xtc_threshold, 0.2F);
  EXPECT_FLOAT_EQ(params->dry_multiplier, 0.8F);
  EXPECT_EQ(params->mirostat, 2);
  EXPECT_EQ(params->min_tokens, 3);
  EXPECT_FALSE(params->penalize_prompt);
  ASSERT_EQ(params->logit_bias.size(), 2u);
  EXPECT_EQ(params->logit_bias[0], (std::pair<TokenId, float>(5, 1.5F)));
  EXPECT_EQ(params->logit_bias[1].second, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(params->stop_token_ids, (std::vector<TokenId>{7, 8}));
  EXPECT_EQ(to_string(params->stages), "top_k;temperature");
  EXPECT_FLOAT_EQ(params->temperature, 2);
}

TEST(SamplingFlags, RefusesBadLists) {
  SamplingParams params;
  for (const char* value : {"", "5", "+1", "x+1", "5+x", "5+inf", "-5+1", "5+nan"})
    EXPECT_FALSE(set_sampling(params, "logit_bias", value).is_ok()) << value;
  EXPECT_FALSE(set_sampling(params, "samplers", "top_k;what").is_ok());
  EXPECT_FALSE(set_sampling(params, "stop_token_ids", "1,,x").is_ok());
  EXPECT_FALSE(set_sampling(params, "mirostat", "1").is_ok());
  EXPECT_TRUE(set_sampling(params, "sampling_seq", "kt").is_ok());
  EXPECT_EQ(to_string(params.stages), "top_k;temperature");
}

TEST(SamplingFlags, WordsNeedATokenizer) {
  SamplingFlags flags;
  flags.bad_words = {"x"};
  EXPECT_FALSE(sampling_of(flags, {}, nullptr).is_ok());
  SamplingFlags dry;
  dry.given = {{"dry-multiplier", "1"}};
  EXPECT_FALSE(sampling_of(dry, {}, nullptr).is_ok());
}

}  // namespace
}  // namespace ingot

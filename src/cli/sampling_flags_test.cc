// SPDX-License-Identifier: Apache-2.0
#include "cli/sampling_flags.h"

#include <gtest/gtest.h>

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
  const auto params = sampling_of(flags, SamplingParams{.temperature = 0.5F, .top_k = 9});
  ASSERT_TRUE(params.is_ok());
  EXPECT_EQ(params->temperature, 0);
  EXPECT_EQ(params->top_k, 9);
  EXPECT_EQ(params->seed, 3u);
  EXPECT_THROW(app.parse("--top-p 2"), CLI::ParseError);
}

}  // namespace
}  // namespace ingot

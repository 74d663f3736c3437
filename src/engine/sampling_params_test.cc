// SPDX-License-Identifier: Apache-2.0
#include "engine/sampling_params.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "engine/sampler_candidates.h"

namespace ingot {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(SamplingParams, OutOfRangeNamesTheField) {
  struct Case {
    const char* field;
    std::function<void(SamplingParams&)> spoil;
  };
  const Case cases[] = {
      {"temperature", [](auto& p) { p.temperature = kNaN; }},
      {"temperature", [](auto& p) { p.temperature = -1; }},
      {"dynatemp_range", [](auto& p) { p.dynatemp_range = -1; }},
      {"dynatemp_exponent", [](auto& p) { p.dynatemp_exponent = kInfinity; }},
      {"top_k", [](auto& p) { p.top_k = -2; }},
      {"top_p", [](auto& p) { p.top_p = 1.5F; }},
      {"min_p", [](auto& p) { p.min_p = -0.5F; }},
      {"typical_p", [](auto& p) { p.typical_p = 2; }},
      {"top_n_sigma", [](auto& p) { p.top_n_sigma = kNaN; }},
      {"xtc_probability", [](auto& p) { p.xtc_probability = 1.1F; }},
      {"xtc_threshold", [](auto& p) { p.xtc_threshold = -1; }},
      {"repetition_penalty", [](auto& p) { p.repetition_penalty = 0; }},
      {"presence_penalty", [](auto& p) { p.presence_penalty = kInfinity; }},
      {"frequency_penalty", [](auto& p) { p.frequency_penalty = -1000; }},
      {"repeat_last_n", [](auto& p) { p.repeat_last_n = -2; }},
      {"dry_multiplier", [](auto& p) { p.dry_multiplier = -1; }},
      {"dry_base", [](auto& p) { p.dry_base = kNaN; }},
      {"dry_allowed_length", [](auto& p) { p.dry_allowed_length = -1; }},
      {"dry_penalty_last_n", [](auto& p) { p.dry_penalty_last_n = -2; }},
      {"dry_breakers", [](auto& p) { p.dry_breakers = {{}}; }},
      {"dry_breakers", [](auto& p) { p.dry_breakers = {std::vector<TokenId>(65)}; }},
      {"mirostat", [](auto& p) { p.mirostat = 1; }},
      {"mirostat_tau", [](auto& p) { p.mirostat_tau = -1; }},
      {"mirostat_eta", [](auto& p) { p.mirostat_eta = 11; }},
      {"logit_bias",
       [](auto& p) {
         p.logit_bias = {{0, kInfinity}};
       }},
      {"logit_bias",
       [](auto& p) {
         p.logit_bias = {{100, 1.0F}};
       }},
      {"logit_bias",
       [](auto& p) {
         p.logit_bias.assign((1 << 16) + 1, {0, 1.0F});
       }},
      {"bad_words", [](auto& p) { p.bad_words = {{}}; }},
      {"bad_words",
       [](auto& p) {
         p.bad_words = {{3, -1}};
       }},
      {"bad_words", [](auto& p) { p.bad_words.assign(1025, {1}); }},
      {"allowed_token_ids", [](auto& p) { p.allowed_token_ids = {100}; }},
      {"stop_token_ids", [](auto& p) { p.stop_token_ids = {-1}; }},
      {"min_tokens", [](auto& p) { p.min_tokens = -1; }},
      {"logprobs", [](auto& p) { p.logprobs = -1; }},
      {"prompt_logprobs", [](auto& p) { p.prompt_logprobs = 1 << 21; }},
      {"samplers", [](auto& p) { p.stages.assign(33, SamplerStage::kTopK); }},
  };
  for (const Case& spoiled : cases) {
    SamplingParams params;
    spoiled.spoil(params);
    const Status status = validate(params, 100);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << spoiled.field;
    EXPECT_EQ(status.message().find(spoiled.field), 0u) << status.message();
  }
  EXPECT_TRUE(validate(SamplingParams{}, 100).is_ok());
  SamplingParams bans;
  bans.logit_bias = {{5, -kInfinity}, {6, -100.0F}};
  EXPECT_TRUE(validate(bans, 100).is_ok());
}

TEST(SamplingParams, StagesHaveNamesAndLetters) {
  EXPECT_EQ(to_string(default_stages()),
            "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature");
  EXPECT_EQ(*parse_stages(to_string(default_stages())), default_stages());
  EXPECT_EQ(*parse_stage_letters("edskypmxt"), default_stages());
  EXPECT_EQ(to_string(*parse_stages("Temp;top-k;minp;")), "temperature;top_k;min_p");
  EXPECT_FALSE(parse_stages("top_k;what").is_ok());
  EXPECT_NE(parse_stages("what").status().message().find("what"), std::string::npos);
  EXPECT_FALSE(parse_stages("").is_ok());
  EXPECT_FALSE(parse_stage_letters("kz").is_ok());
}

TEST(SamplingParams, StopIdsEndAnAnswerAndEosUnlessIgnored) {
  SamplingParams params;
  params.eos_ids = {2};
  params.stop_token_ids = {7};
  EXPECT_TRUE(is_stop(params, 2));
  EXPECT_TRUE(is_stop(params, 7));
  EXPECT_FALSE(is_stop(params, 3));
  params.ignore_eos = true;
  EXPECT_FALSE(is_stop(params, 2));
  EXPECT_TRUE(is_stop(params, 7));
}

}  // namespace
}  // namespace ingot

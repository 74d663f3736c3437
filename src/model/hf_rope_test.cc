// SPDX-License-Identifier: Apache-2.0
// Every rope type in both spellings, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/hf_test_config.h"

namespace ingot {
namespace {

RopeSpec rope(std::string_view model_type, std::string_view changes) {
  const Result<ModelPlan> plan = plan_tiny(model_type, changes);
  EXPECT_TRUE(plan.is_ok()) << plan.status().message();
  return plan.is_ok() ? plan->spec.ropes.at(0) : RopeSpec();
}

TEST(HfRope, ReadsBothSpellingsAlike) {
  const RopeSpec current = rope("llama", R"({"rope_parameters": {"rope_type": "yarn", "factor": 4,
      "rope_theta": 5e5, "original_max_position_embeddings": 128, "beta_fast": 16,
      "attention_factor": 1.5, "mscale": 0.7, "mscale_all_dim": 0.9, "truncate": false}})");
  const RopeSpec legacy = rope("llama", R"({"rope_theta": 5e5, "rope_scaling": {"type": "yarn",
      "factor": 4, "original_max_position_embeddings": 128, "beta_fast": 16,
      "attention_factor": 1.5, "mscale": 0.7, "mscale_all_dim": 0.9, "truncate": false}})");
  EXPECT_EQ(current, legacy);
  EXPECT_EQ(current.scaling, RopeScaling::kYarn);
  EXPECT_EQ(current.theta, 5e5);
  EXPECT_EQ(current.original_context, 128);
  EXPECT_EQ(current.beta_fast, 16);
  EXPECT_EQ(current.beta_slow, 1);
  EXPECT_EQ(current.attention_factor, 1.5);
  EXPECT_EQ(current.mscale, 0.7);
  EXPECT_EQ(current.mscale_all_dim, 0.9);
  EXPECT_FALSE(current.truncates);
}

TEST(HfRope, TakesWholeHeadsUnlessTheFamilyDoesNot) {
  EXPECT_EQ(rope("llama", R"({"partial_rotary_factor": 0.5})").rotary_dim, 32);
  EXPECT_EQ(rope("phi", R"({"partial_rotary_factor": 0.25})").rotary_dim, 8);
  EXPECT_EQ(rope("phi", R"({"rope_parameters": {"partial_rotary_factor": 0.25}})").rotary_dim, 8);
}

TEST(HfRope, KnowsLinearDynamicAndLlama3) {
  EXPECT_EQ(rope("llama", R"({"rope_scaling": {"type": "linear", "factor": 4}})").factor, 4);
  const RopeSpec dynamic = rope("llama", R"({"rope_scaling": {"type": "dynamic", "factor": 2}})");
  EXPECT_EQ(dynamic.scaling, RopeScaling::kDynamic);
  EXPECT_EQ(dynamic.original_context, 512);
  const RopeSpec llama3 = rope("llama", R"({"rope_scaling": {"rope_type": "llama3", "factor": 8,
      "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 64}})");
  EXPECT_EQ(llama3.scaling, RopeScaling::kLlama3);
  EXPECT_EQ(llama3.high_freq_factor, 4);
  EXPECT_EQ(llama3.original_context, 64);
}

TEST(HfRope, InfersTheFactorOfLongRope) {
  const char* lists = R"("short_factor": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],
                         "long_factor": [2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2])";
  const std::string inside = fmt::format(R"({{"rope_scaling": {{"type": "su", {}}},
                       "original_max_position_embeddings": 64}})",
                                         lists);
  const RopeSpec phi = rope("phi3", inside);
  EXPECT_EQ(phi.scaling, RopeScaling::kLongRope);
  EXPECT_EQ(phi.factor, 8);
  EXPECT_EQ(phi.original_context, 64);
  EXPECT_EQ(phi.long_factors.size(), 16U);
  // Phi-3's first files call it yarn.
  const std::string yarn = fmt::format(R"({{"rope_scaling": {{"type": "yarn", {}}}}})", lists);
  EXPECT_EQ(rope("phi3", yarn).scaling, RopeScaling::kLongRope);
  EXPECT_EQ(rope("phi3", yarn).original_context, 4096);
}

TEST(HfRope, PrefersTheLegacyObjectWhereBothStand) {
  EXPECT_EQ(rope("llama", R"({"rope_scaling": {"type": "linear", "factor": 3},
                              "rope_parameters": {"rope_type": "default"}})")
                .factor,
            3);
  EXPECT_EQ(rope("llama", R"({"rope_scaling": {}, "rope_parameters": {"rope_theta": 7e4}})").theta,
            7e4);
}

struct Refusal {
  const char* model_type = nullptr;
  const char* changes = nullptr;
  const char* message = nullptr;
  StatusCode code = StatusCode::kInvalidData;
};

TEST(HfRope, RefusesWhatItCannotCompute) {
  const Refusal cases[] = {
      {"llama", R"({"rope_scaling": {"type": "spiral"}})", "rope_scaling.type",
       StatusCode::kUnsupported},
      {"llama", R"({"rope_parameters": {"rope_type": "proportional"}})", "proportional",
       StatusCode::kUnsupported},
      {"llama", R"({"rope_parameters": {"full_attention": {"rope_theta": 1e4}}})",
       "rope per layer type", StatusCode::kUnsupported},
      {"llama", R"({"rope_scaling": 4})", "rope_scaling"},
      {"llama", R"({"rope_scaling": {"type": "linear"}})", "rope_scaling.factor"},
      {"llama", R"({"rope_scaling": {"type": "linear", "factor": 0}})", "rope_scaling.factor"},
      {"llama", R"({"rope_scaling": {"type": "linear", "factor": -2}})", "rope_scaling.factor"},
      {"llama", R"({"rope_theta": 0})", "rope_theta"},
      {"llama", R"({"rope_theta": 1e300})", "rope_theta"},
      {"llama", R"({"rope_parameters": {"rope_theta": -1}})", "rope_parameters.rope_theta"},
      {"llama", R"({"head_dim": 33})", "even number"},
      {"phi", R"({"partial_rotary_factor": 0.1})", "even number"},  // 3 of 32
      {"phi", R"({"partial_rotary_factor": 0})", "even number"},
      {"phi", R"({"partial_rotary_factor": 1.5})", "partial_rotary_factor"},
      {"llama", R"({"rope_scaling": {"type": "yarn", "factor": 4, "beta_fast": -1}})", "beta_fast"},
      {"llama", R"({"rope_scaling": {"type": "yarn", "factor": 4, "attention_factor": -1}})",
       "attention_factor"},
      {"llama", R"({"rope_scaling": {"type": "yarn", "factor": 4,
          "original_max_position_embeddings": 0}})",
       "original_max_position_embeddings"},
      {"llama", R"({"rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 4,
          "high_freq_factor": 4}})",
       "high_freq_factor"},
      {"llama", R"({"rope_scaling": {"type": "llama3", "factor": 8}})", "low_freq_factor"},
      {"phi3", R"({"rope_scaling": {"type": "longrope", "short_factor": [1, 1],
          "long_factor": [1, 1]}})",
       "2 numbers for 16 pairs"},
      {"phi3", R"({"rope_scaling": {"type": "longrope",
          "short_factor": [0,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],
          "long_factor": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}})",
       "positive"},
      {"llama", R"({"head_dim": 2, "rope_scaling": {"type": "dynamic", "factor": 2}})", "dynamic"},
  };
  for (const Refusal& one : cases) {
    SCOPED_TRACE(one.changes);
    const Status status = plan_tiny(one.model_type, one.changes).status();
    EXPECT_EQ(status.code(), one.code);
    EXPECT_THAT(status.message(), testing::HasSubstr(one.message));
    EXPECT_THAT(status.message(), testing::StartsWith("config.json: field '"));
  }
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// Every bound on a hyper-parameter is hit from both sides; contradictions and unknown words are
// refused with file and field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "model/hf_test_config.h"

namespace ingot {
namespace {

using testing::HasSubstr;

void expect_refused(std::string_view model_type, const std::string& changes,
                    std::string_view message, StatusCode code = StatusCode::kInvalidData) {
  SCOPED_TRACE(changes);
  const Status status = plan_tiny(model_type, changes).status();
  EXPECT_EQ(status.code(), code);
  EXPECT_THAT(status.message(), HasSubstr(std::string(message)));
  EXPECT_THAT(status.message(), testing::StartsWith("config.json: field '"));
}

struct Bound {
  const char* field;
  int64_t min;
  int64_t max;
};

TEST(HfBounds, HoldForEachHyperParameter) {
  const Bound bounds[] = {
      {"vocab_size", 1, limits::kVocab},          {"hidden_size", 1, limits::kHidden},
      {"intermediate_size", 1, limits::kHidden},  {"num_hidden_layers", 1, limits::kLayers},
      {"num_attention_heads", 1, limits::kHeads}, {"num_key_value_heads", 1, limits::kHeads},
      {"head_dim", 1, limits::kHeadDim},          {"max_position_embeddings", 1, limits::kContext},
      {"sliding_window", 1, limits::kContext},
  };
  for (const Bound& bound : bounds) {
    const std::string field = fmt::format("field '{}'", bound.field);
    for (const int64_t value : {bound.min - 1, bound.max + 1, int64_t{-1}}) {
      expect_refused("mistral", fmt::format(R"({{"{}": {}}})", bound.field, value), field);
    }
    for (const char* value : {R"("many")", "1.5", "[1]", "true", "18446744073709551615", "1e300"}) {
      expect_refused("mistral", fmt::format(R"({{"{}": {}}})", bound.field, value), field);
    }
  }
}

TEST(HfBounds, AreNotTooNarrow) {
  for (const char* changes : {
           R"({"vocab_size": 16777216})",
           R"({"hidden_size": 1048576, "head_dim": 64})",
           R"({"num_hidden_layers": 4096})",
           R"({"max_position_embeddings": 4294967296})",
           R"({"head_dim": 16384})",
       }) {
    SCOPED_TRACE(changes);
    EXPECT_TRUE(plan_tiny("mistral", changes).is_ok());
  }
}

TEST(HfBounds, CountTheHeadsOfAllLayers) {
  EXPECT_TRUE(
      plan_tiny("gpt_neox", R"({"num_attention_heads": 16, "num_hidden_layers": 4096})").is_ok());
  expect_refused("gpt_neox", R"({"num_attention_heads": 32, "num_hidden_layers": 4096})",
                 "field 'num_attention_heads'");
}

TEST(HfBounds, HoldForRealNumbers) {
  expect_refused("llama", R"({"rms_norm_eps": -1e-5})", "field 'rms_norm_eps'");
  expect_refused("llama", R"({"rms_norm_eps": 2})", "field 'rms_norm_eps'");
  expect_refused("llama", R"({"rms_norm_eps": "small"})", "field 'rms_norm_eps'");
  expect_refused("granite", R"({"logits_scaling": 0})", "field 'logits_scaling'");
  expect_refused("granite", R"({"residual_multiplier": 1e30})", "field 'residual_multiplier'");
  expect_refused("cohere", R"({"logit_scale": -1})", "field 'logit_scale'");
  expect_refused("gemma2", R"({"query_pre_attn_scalar": 0})", "field 'query_pre_attn_scalar'");
  expect_refused("gemma2", R"({"attn_logit_softcapping": -5})", "field 'attn_logit_softcapping'");
  expect_refused("olmo", R"({"clip_qkv": -1})", "field 'clip_qkv'");
}

TEST(HfBounds, HoldForSpecialTokens) {
  expect_refused("llama", R"({"eos_token_id": 512})", "field 'eos_token_id'");
  expect_refused("llama", R"({"eos_token_id": [2, 999999]})", "field 'eos_token_id'");
  expect_refused("llama", R"({"bos_token_id": 512})", "field 'bos_token_id'");
  const Result<ModelPlan> none = plan_tiny("llama", R"({"eos_token_id": -1, "bos_token_id": -1})");
  ASSERT_TRUE(none.is_ok());
  EXPECT_TRUE(none->spec.eos_ids.empty());
  // A family's own default that does not fit is no fault of the file.
  const Result<ModelPlan> missing = plan_tiny("gpt2", R"({"eos_token_id": null})");
  ASSERT_TRUE(missing.is_ok());
  EXPECT_TRUE(missing->spec.eos_ids.empty());
}

TEST(HfBounds, RefuseContradictions) {
  expect_refused("llama", R"({"num_key_value_heads": 3})", "field 'num_key_value_heads'");
  expect_refused("llama", R"({"hidden_size": 130})", "not a multiple of the 4 attention heads");
  EXPECT_TRUE(plan_tiny("llama", R"({"hidden_size": 130, "head_dim": 32})").is_ok());
  expect_refused("gemma2", R"({"layer_types": ["full_attention"]})", "1 entries for 4 layers");
  expect_refused("smollm3", R"({"no_rope_layers": [1, 0]})", "2 entries for 4 layers");
  expect_refused("gpt_neo", R"({"attention_layers": ["global"]})", "1 entries for 24 layers");
  expect_refused("falcon", R"({"new_decoder_architecture": true, "parallel_attn": false})",
                 "field 'parallel_attn'");
  expect_refused("falcon", R"({"num_ln_in_parallel_attn": 2})", "field 'num_ln_in_parallel_attn'");
  expect_refused("falcon", R"({"new_decoder_architecture": true, "num_kv_heads": 3})",
                 "field 'num_kv_heads'");
  expect_refused("gemma3", "{}", "field 'text_config'");
  expect_refused("gptj", R"({"n_embd": 128, "n_head": 4, "rotary_dim": 7})", "field 'rotary_dim'");
  expect_refused("llama", R"({"attention_bias": "yes"})", "field 'attention_bias'");
  expect_refused("exaone4", R"({"sliding_window_pattern": "LLX"})",
                 "field 'sliding_window_pattern'");
  expect_refused("cohere2", R"({"sliding_window_pattern": 0})", "field 'sliding_window_pattern'");
}

TEST(HfBounds, RefuseWhatIsUnknown) {
  const StatusCode unsupported = StatusCode::kUnsupported;
  expect_refused("llama", R"({"hidden_act": "mystery"})", "'mystery'", unsupported);
  expect_refused("gemma2",
                 R"({"layer_types": ["full_attention", "linear_attention", "full_attention",
                          "full_attention"]})",
                 "'linear_attention'", unsupported);
  expect_refused("gemma3_text", R"({"use_bidirectional_attention": true})",
                 "field 'use_bidirectional_attention'", unsupported);
  expect_refused("gpt2", R"({"add_cross_attention": true})", "field 'add_cross_attention'",
                 unsupported);
  expect_refused("oracle9000", "{}", "known are", unsupported);
  expect_refused("oracle9000", R"({"auto_map": {"AutoModel": "x.py"}})", "never run", unsupported);
  EXPECT_TRUE(plan_tiny("llama", R"({"auto_map": {"AutoModel": "x.py"}})").is_ok());
  expect_refused("llama", R"({"quantization_config": {"quant_method": "aqlm"}})", "'aqlm'",
                 unsupported);
  expect_refused("llava", R"({"quantization_config": {"quant_method": "aqlm"}})", "'aqlm'",
                 unsupported);
  expect_refused("llava", R"({"text_config": {"model_type": "gemma3", "text_config": {}}})",
                 "text_config.text_config", unsupported);
}

TEST(HfBounds, RefuseTextThatIsNoConfig) {
  for (const char* text : {"", "[]", "7", R"("llama")", "{", R"({"model_type": 7})", "{}"}) {
    SCOPED_TRACE(text);
    const Status status = plan_text(text).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidData);
    EXPECT_THAT(status.message(), HasSubstr("config.json"));
  }
}

}  // namespace
}  // namespace ingot

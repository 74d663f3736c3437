// SPDX-License-Identifier: Apache-2.0
// Every bound on a GGUF key is hit from outside; wrong types, contradictions and missing keys are
// refused with file and key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/limits.h"
#include "model/gguf_test_model.h"

namespace ingot {
namespace {

using testing::HasSubstr;

void expect_refused(const TinyGguf& file, const std::string& key,
                    StatusCode code = StatusCode::kInvalidData) {
  SCOPED_TRACE(key);
  const Status status = file.plan().status();
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_THAT(status.message(), HasSubstr("'" + key + "'"));
  EXPECT_THAT(status.message(), testing::StartsWith("model.gguf: "));
}

TinyGguf llama() {
  return TinyGguf("llama");
}

struct Bound {
  const char* key;
  int64_t min;
  int64_t max;
};

TEST(GgufBounds, HoldForEachInteger) {
  const Bound bounds[] = {
      {"block_count", 1, limits::kLayers},
      {"context_length", 1, limits::kContext},
      {"embedding_length", 1, limits::kHidden},
      {"feed_forward_length", 0, limits::kHidden},
      {"attention.head_count", 0, limits::kHeads},
      {"attention.head_count_kv", 0, limits::kHeads},
      {"attention.key_length", 1, limits::kHeadDim},
      {"attention.value_length", 1, limits::kHeadDim},
      {"attention.sliding_window", 0, limits::kContext},
      {"attention.sliding_window_pattern", 0, limits::kLayers},
      {"attention.rope_pattern", 0, 1},
      {"expert_count", 0, limits::kExperts},
      {"nextn_predict_layers", 0, limits::kLayers},
      {"rope.dimension_count", 2, limits::kHeadDim},
      {"rope.scaling.original_context_length", 1, limits::kContext},
      {"vocab_size", 1, 32},
  };
  for (const Bound& bound : bounds) {
    const std::string key = std::string("llama.") + bound.key;
    TinyGguf file = llama().set("attention.sliding_window", 4U);
    expect_refused(file.set(bound.key, bound.min - 1), key);
    expect_refused(file.set(bound.key, bound.max + 1), key);
    expect_refused(file.set(bound.key, int64_t{-1}), key);
    expect_refused(file.set(bound.key, "4"), key);
    expect_refused(file.set(bound.key, 4.0F), key);
  }
}

TEST(GgufBounds, HoldForEachNumber) {
  const std::pair<const char*, float> beyond[] = {
      {"attention.layer_norm_rms_epsilon", 1.5F},
      {"attention.scale", 1e10F},
      {"attn_logit_softcapping", 1e10F},
      {"attention.clamp_kqv", 1e10F},
      {"final_logit_softcapping", 1e10F},
      {"rope.freq_base", 1.0F},
      {"rope.freq_base_swa", 0.0F},
      {"rope.scaling.factor", 1e10F},
      {"rope.scaling.factor", 1e-9F},
      {"rope.scale_linear", 1e10F},
  };
  for (const auto& [key, value] : beyond) {
    const std::string full = std::string("llama.") + key;
    expect_refused(llama().set(key, value), full);
    expect_refused(llama().set(key, -1.0F), full);
    expect_refused(llama().set(key, std::nanf("")), full);
    expect_refused(llama().set(key, INFINITY), full);
    expect_refused(llama().set(key, true), full);
  }
}

TEST(GgufBounds, NameWhatIsMissing) {
  for (const char* key :
       {"block_count", "context_length", "embedding_length", "feed_forward_length",
        "attention.head_count", "attention.layer_norm_rms_epsilon"}) {
    expect_refused(llama().drop(key), std::string("llama.") + key);
  }
  expect_refused(llama().drop_tensor("token_embd.weight"), "token_embd.weight");
  expect_refused(TinyGguf("gptneox"), "gptneox.use_parallel_residual");
  expect_refused(TinyGguf("cohere2"), "cohere2.logit_scale");
  expect_refused(TinyGguf("gpt2"), "position_embd.weight");
}

TEST(GgufBounds, RefuseContradictions) {
  expect_refused(llama().set("attention.head_count_kv", 3U), "llama.attention.head_count_kv");
  expect_refused(llama().set("attention.head_count", 3U).set("attention.head_count_kv", 3U),
                 "llama.attention.head_count");
  expect_refused(
      llama().set("attention.head_count", std::vector<uint32_t>{4}).set("block_count", 0U),
      "llama.block_count");
  expect_refused(
      llama().set("block_count", 3U).set("feed_forward_length", std::vector<uint32_t>{16, 16}),
      "llama.feed_forward_length");
  expect_refused(llama().set("rope.dimension_count", 4U), "llama.rope.dimension_count");
  expect_refused(llama().set("attention.key_length", 9U).set("rope.dimension_count", 9U),
                 "llama.rope.dimension_count");
  expect_refused(llama().set("nextn_predict_layers", 2U), "llama.nextn_predict_layers");
  expect_refused(llama().set("rope.scaling.type", "longrope"), "llama.rope.scaling.type");
  expect_refused(llama().add("token_embd.weight", {32}), "token_embd.weight");
  expect_refused(llama().set("tokenizer.ggml.eos_token_id", 32U), "tokenizer.ggml.eos_token_id");
  expect_refused(llama()
                     .add("rope_factors_long.weight", {1})
                     .add("rope_factors_short.weight", {1})
                     .set("rope.scaling.original_context_length", 1U),
                 "llama.rope.scaling.original_context_length");
}

TEST(GgufBounds, SayWhatIsNotSupported) {
  const StatusCode code = StatusCode::kUnsupported;
  expect_refused(llama().set("expert_count", 8U), "llama.expert_count", code);
  expect_refused(llama().set("rope.scaling.type", "spiral"), "llama.rope.scaling.type", code);
  expect_refused(llama().set("attention.head_count", std::vector<uint32_t>{4, 0}),
                 "llama.attention.head_count", code);
  expect_refused(TinyGguf("mpt").set("attention.max_alibi_bias", 4.0F),
                 "mpt.attention.max_alibi_bias", code);
}

TEST(GgufBounds, AllowIdsThatMeanNone) {
  const Result<ModelPlan> plan = llama().set("tokenizer.ggml.bos_token_id", 0xFFFF'FFFFU).plan();
  ASSERT_TRUE(plan.is_ok());
  EXPECT_EQ(plan->spec.bos_id, -1);
}

TEST(GgufMapperList, HasEachNameOnceInOrder) {
  const auto mappers = gguf_mappers();
  for (size_t i = 1; i < mappers.size(); ++i)
    EXPECT_LT(mappers[i - 1].architecture, mappers[i].architecture);
}

}  // namespace
}  // namespace ingot

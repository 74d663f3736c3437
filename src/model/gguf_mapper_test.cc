// SPDX-License-Identifier: Apache-2.0
// What each GGUF architecture makes of its keys and tensors. That the numbers come out right is
// tests/gguf_oracle_test.cc's business.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/gguf_test_model.h"

namespace ingot {
namespace {

using testing::ElementsAre;

ModelPlan plan_of(const TinyGguf& file) {
  Result<ModelPlan> plan = file.plan();
  EXPECT_TRUE(plan.is_ok()) << plan.status().message();
  return plan.is_ok() ? *plan : ModelPlan{};
}

const AttentionSpec& attention(const ModelPlan& plan, size_t layer) {
  return std::get<AttentionSpec>(plan.spec.layers.at(layer).mixer);
}

const DenseFfnSpec& ffn(const ModelPlan& plan, size_t layer) {
  return std::get<DenseFfnSpec>(plan.spec.layers.at(layer).ffn);
}

std::vector<int64_t> windows(const ModelPlan& plan) {
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < plan.spec.layers.size(); ++i)
    sizes.push_back(attention(plan, i).window);
  return sizes;
}

std::vector<int> ropes(const ModelPlan& plan) {
  std::vector<int> indices;
  for (size_t i = 0; i < plan.spec.layers.size(); ++i)
    indices.push_back(attention(plan, i).rope);
  return indices;
}

std::string name(const TensorSource& source) {
  return source.exists() ? source.parts.front().name : "";
}

std::vector<int64_t> rows(const TensorSource& source) {
  const RowRange range = source.parts.front().rows.front();
  return {range.begin, range.end};
}

TEST(GgufMapper, ReadsTheCommonKeys) {
  const ModelPlan plan = plan_of(TinyGguf("llama")
                                     .set("vocab_size", 30U)
                                     .set("tokenizer.ggml.bos_token_id", 1U)
                                     .set("tokenizer.ggml.eos_token_id", 2U)
                                     .set("tokenizer.ggml.eot_token_id", 3U));
  EXPECT_EQ(plan.spec.architecture, "llama");
  EXPECT_EQ(plan.spec.vocab, 32);  // the embedding's rows
  EXPECT_EQ(plan.spec.hidden, 8);
  EXPECT_EQ(plan.spec.context, 512);
  EXPECT_EQ(plan.spec.bos_id, 1);
  EXPECT_THAT(plan.spec.eos_ids, ElementsAre(2, 3));
  EXPECT_EQ(plan.spec.norm.kind, NormKind::kRms);
  EXPECT_FLOAT_EQ(plan.spec.norm.eps, 1e-6F);
  ASSERT_EQ(plan.spec.layers.size(), 2u);
  EXPECT_EQ(attention(plan, 1).heads, 4);
  EXPECT_EQ(attention(plan, 1).kv_heads, 2);
  EXPECT_EQ(attention(plan, 1).key_dim, 2);
  EXPECT_FLOAT_EQ(attention(plan, 1).scale, 1 / std::sqrt(2.0F));
  EXPECT_EQ(ffn(plan, 1).hidden, 16);
  EXPECT_TRUE(ffn(plan, 1).is_gated);
  EXPECT_EQ(plan.spec.ropes.at(0).pairing, RopePairing::kNeighbours);
  EXPECT_EQ(plan.spec.ropes.at(0).rotary_dim, 2);
  EXPECT_EQ(name(plan.weights.layers.at(1).q.weight), "blk.1.attn_q.weight");
  EXPECT_EQ(name(plan.weights.layers.at(1).ffn_norm.weight), "blk.1.ffn_norm.weight");
  EXPECT_TRUE(plan.weights.layers.at(1).q.bias.is_optional);
}

TEST(GgufMapper, TiesTheOutputWhenTheFileHasNone) {
  EXPECT_TRUE(plan_of(TinyGguf("llama")).spec.ties_output);
  const ModelPlan plan = plan_of(TinyGguf("llama").add("output.weight", {32, 8}));
  EXPECT_FALSE(plan.spec.ties_output);
  EXPECT_EQ(name(plan.weights.output.weight), "output.weight");
}

TEST(GgufMapper, TakesSizesLayerByLayer) {
  const ModelPlan plan = plan_of(TinyGguf("openelm")
                                     .set("attention.head_count", std::vector<uint32_t>{4, 2})
                                     .set("attention.head_count_kv", std::vector<uint32_t>{2, 1})
                                     .set("feed_forward_length", std::vector<uint32_t>{16, 24})
                                     .set("attention.key_length", 6U)
                                     .set("attention.value_length", 6U));
  EXPECT_EQ(attention(plan, 0).heads, 4);
  EXPECT_EQ(attention(plan, 1).heads, 2);
  EXPECT_EQ(attention(plan, 1).kv_heads, 1);
  EXPECT_EQ(attention(plan, 1).key_dim, 6);
  EXPECT_EQ(ffn(plan, 1).hidden, 24);
  EXPECT_EQ(attention(plan, 1).qk_norm, QkNorm::kPerHead);
}

TEST(GgufMapper, SplitsFusedMatrices) {
  const ModelPlan plan = plan_of(
      TinyGguf("phi3").add("blk.0.attn_qkv.weight", {16, 8}).add("blk.0.ffn_up.weight", {32, 8}));
  const LayerSources& layer = plan.weights.layers.at(0);
  EXPECT_EQ(name(layer.k.weight), "blk.0.attn_qkv.weight");
  EXPECT_THAT(rows(layer.q.weight), ElementsAre(0, 8));
  EXPECT_THAT(rows(layer.k.weight), ElementsAre(8, 12));
  EXPECT_THAT(rows(layer.v.bias), ElementsAre(12, 16));
  EXPECT_THAT(rows(layer.gate.weight), ElementsAre(0, 16));
  EXPECT_THAT(rows(layer.up.weight), ElementsAre(16, 32));
  EXPECT_EQ(plan.spec.ropes.at(0).pairing, RopePairing::kHalves);
  EXPECT_EQ(name(plan.weights.layers.at(1).k.weight), "blk.1.attn_k.weight");
}

TEST(GgufMapper, ReadsLongropeWithoutAType) {
  const ModelPlan plan = plan_of(TinyGguf("phi3")
                                     .add("rope_factors_long.weight", {1})
                                     .add("rope_factors_short.weight", {1})
                                     .set("rope.scaling.original_context_length", 64U)
                                     .set("rope.scaling.attn_factor", 1.25F)
                                     .set("attention.sliding_window", 48U));
  const RopeSpec& rope = plan.spec.ropes.at(0);
  EXPECT_EQ(rope.scaling, RopeScaling::kLongRope);
  EXPECT_EQ(rope.original_context, 64);
  EXPECT_DOUBLE_EQ(rope.factor, 8);
  EXPECT_DOUBLE_EQ(rope.attention_factor, 1.25);
  EXPECT_EQ(name(plan.weights.rope_long_factors), "rope_factors_long.weight");
  EXPECT_EQ(name(plan.weights.rope_short_factors), "rope_factors_short.weight");
  EXPECT_THAT(windows(plan), ElementsAre(48, 48));
}

TEST(GgufMapper, ReadsYarnAndLinearRopes) {
  const ModelPlan yarn = plan_of(TinyGguf("qwen2")
                                     .set("rope.freq_base", 1e6F)
                                     .set("rope.scaling.type", "yarn")
                                     .set("rope.scaling.factor", 4.0F)
                                     .set("rope.scaling.original_context_length", 128U)
                                     .set("rope.scaling.yarn_beta_fast", 16.0F));
  EXPECT_EQ(yarn.spec.ropes.at(0).scaling, RopeScaling::kYarn);
  EXPECT_DOUBLE_EQ(yarn.spec.ropes.at(0).theta, 1e6);
  EXPECT_DOUBLE_EQ(yarn.spec.ropes.at(0).factor, 4);
  EXPECT_EQ(yarn.spec.ropes.at(0).original_context, 128);
  EXPECT_DOUBLE_EQ(yarn.spec.ropes.at(0).beta_fast, 16);
  EXPECT_DOUBLE_EQ(yarn.spec.ropes.at(0).attention_factor, 0);

  const ModelPlan linear = plan_of(TinyGguf("llama").set("rope.scale_linear", 2.0F));
  EXPECT_EQ(linear.spec.ropes.at(0).scaling, RopeScaling::kLinear);
  EXPECT_DOUBLE_EQ(linear.spec.ropes.at(0).factor, 2);
  const ModelPlan none =
      plan_of(TinyGguf("llama").set("rope.scaling.type", "none").set("rope.scaling.factor", 2.0F));
  EXPECT_EQ(none.spec.ropes.at(0).scaling, RopeScaling::kNone);
}

TEST(GgufMapper, FindsLlama3DivisorsByTheirTensor) {
  const ModelPlan plan = plan_of(TinyGguf("llama"));
  EXPECT_EQ(name(plan.weights.rope_short_factors), "rope_freqs.weight");
  EXPECT_TRUE(plan.weights.rope_short_factors.is_optional);
}

TEST(GgufMapper, KnowsTheGemmas) {
  const ModelPlan gemma2 = plan_of(TinyGguf("gemma2")
                                       .set("attention.sliding_window", 20U)
                                       .set("attn_logit_softcapping", 50.0F)
                                       .set("final_logit_softcapping", 30.0F));
  EXPECT_FLOAT_EQ(gemma2.spec.embedding_scale, std::sqrt(8.0F));
  EXPECT_FALSE(gemma2.spec.norm.adds_one);  // the file has it in the weights
  EXPECT_FLOAT_EQ(attention(gemma2, 0).softcap, 50);
  EXPECT_FLOAT_EQ(gemma2.spec.logit_softcap, 30);
  EXPECT_THAT(windows(gemma2), ElementsAre(20, 0));
  EXPECT_EQ(ffn(gemma2, 0).activation, Activation::kGeluTanh);
  EXPECT_EQ(name(gemma2.weights.layers[0].mixer_post_norm.weight),
            "blk.0.post_attention_norm.weight");
  EXPECT_EQ(name(gemma2.weights.layers[0].ffn_post_norm.weight), "blk.0.post_ffw_norm.weight");

  const ModelPlan gemma3 = plan_of(TinyGguf("gemma3")
                                       .set("block_count", 6U)
                                       .set("rope.freq_base", 1e6F)
                                       .set("rope.scaling.factor", 8.0F)
                                       .set("attention.sliding_window", 20U));
  EXPECT_THAT(windows(gemma3), ElementsAre(20, 20, 20, 20, 20, 0));
  EXPECT_THAT(ropes(gemma3), ElementsAre(1, 1, 1, 1, 1, 0));
  EXPECT_EQ(gemma3.spec.ropes.at(0).scaling, RopeScaling::kLinear);
  EXPECT_DOUBLE_EQ(gemma3.spec.ropes.at(1).theta, 10000);
  EXPECT_EQ(gemma3.spec.ropes.at(1).scaling, RopeScaling::kNone);
  EXPECT_EQ(attention(gemma3, 0).qk_norm, QkNorm::kPerHead);
}

TEST(GgufMapper, ScalesTheLargestGemmasByTheirWidth) {
  const ModelPlan plan =
      plan_of(TinyGguf("gemma2").set("block_count", 46U).set("attention.key_length", 6U));
  EXPECT_FLOAT_EQ(attention(plan, 45).scale, 1 / std::sqrt(2.0F));
}

TEST(GgufMapper, TakesAWindowPatternAsPeriodOrList) {
  const auto file = [] {
    return TinyGguf("olmo2").set("block_count", 3U).set("attention.sliding_window", 9U);
  };
  EXPECT_THAT(windows(plan_of(file())), ElementsAre(9, 9, 9));  // every fourth is full
  EXPECT_THAT(windows(plan_of(file().set("attention.sliding_window_pattern", 2U))),
              ElementsAre(9, 0, 9));
  EXPECT_THAT(windows(plan_of(file().set("attention.sliding_window_pattern", 1U))),
              ElementsAre(0, 0, 0));
  EXPECT_THAT(windows(plan_of(
                  file().set("attention.sliding_window_pattern", std::vector<uint32_t>{0, 0, 1}))),
              ElementsAre(0, 0, 9));
}

TEST(GgufMapper, Olmo3SlidesWithItsOwnPlainRope) {
  const ModelPlan plan = plan_of(TinyGguf("olmo2")
                                     .set("block_count", 4U)
                                     .set("attention.sliding_window", 9U)
                                     .set("rope.freq_base_swa", 5e5F)
                                     .set("rope.scaling.type", "yarn")
                                     .set("rope.scaling.factor", 4.0F));
  EXPECT_THAT(ropes(plan), ElementsAre(1, 1, 1, 0));
  EXPECT_DOUBLE_EQ(plan.spec.ropes.at(1).theta, 5e5);
  EXPECT_EQ(plan.spec.ropes.at(1).scaling, RopeScaling::kNone);
  EXPECT_EQ(attention(plan, 0).qk_norm, QkNorm::kWhole);
  EXPECT_FALSE(plan.spec.layers[0].has_mixer_norm);
  EXPECT_TRUE(plan.spec.layers[0].has_mixer_post_norm);
}

TEST(GgufMapper, RotatesOnlySomeLayersWhereTheFamilyDoes) {
  EXPECT_THAT(ropes(plan_of(TinyGguf("smollm3").set("block_count", 5U))),
              ElementsAre(0, 0, 0, -1, 0));
  EXPECT_THAT(ropes(plan_of(
                  TinyGguf("smollm3").set("attention.rope_pattern", std::vector<uint32_t>{0, 1}))),
              ElementsAre(-1, 0));
  const auto exaone = [] { return TinyGguf("exaone4").set("block_count", 4U); };
  EXPECT_THAT(ropes(plan_of(exaone())), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(ropes(plan_of(exaone().set("attention.sliding_window", 24U))),
              ElementsAre(0, 0, 0, -1));
  const ModelPlan cohere = plan_of(TinyGguf("cohere2")
                                       .set("block_count", 4U)
                                       .set("attention.sliding_window", 24U)
                                       .set("logit_scale", 0.25F));
  EXPECT_THAT(ropes(cohere), ElementsAre(0, 0, 0, -1));
  EXPECT_FLOAT_EQ(cohere.spec.logit_scale, 0.25F);
}

TEST(GgufMapper, KnowsParallelBlocks) {
  const ModelPlan phi = plan_of(TinyGguf("phi2").set("rope.dimension_count", 2U));
  EXPECT_EQ(phi.spec.layers[0].form, BlockForm::kParallel);
  EXPECT_FALSE(phi.spec.layers[0].has_ffn_norm);
  EXPECT_FALSE(ffn(phi, 0).is_gated);
  EXPECT_EQ(phi.spec.norm.kind, NormKind::kLayer);
  EXPECT_FLOAT_EQ(phi.spec.norm.eps, 1e-5F);

  const ModelPlan neox = plan_of(TinyGguf("gptneox").set("use_parallel_residual", false));
  EXPECT_EQ(neox.spec.layers[0].form, BlockForm::kSequential);
  EXPECT_EQ(ffn(neox, 0).activation, Activation::kGelu);

  const ModelPlan falcon = plan_of(TinyGguf("falcon").add("blk.0.attn_norm_2.weight", {8}));
  EXPECT_EQ(name(falcon.weights.layers[1].mixer_norm.weight), "blk.1.attn_norm_2.weight");
  EXPECT_EQ(name(falcon.weights.layers[1].ffn_norm.weight), "blk.1.attn_norm.weight");
  EXPECT_FALSE(plan_of(TinyGguf("falcon")).spec.layers[0].has_ffn_norm);

  EXPECT_EQ(plan_of(TinyGguf("stablelm")).spec.layers[0].form, BlockForm::kParallel);
  EXPECT_EQ(plan_of(TinyGguf("stablelm").add("blk.0.ffn_norm.weight", {8})).spec.layers[0].form,
            BlockForm::kSequential);
}

TEST(GgufMapper, FindsQueryNormsByTheirTensor) {
  EXPECT_EQ(attention(plan_of(TinyGguf("command-r")), 0).qk_norm, QkNorm::kNone);
  const ModelPlan plan = plan_of(TinyGguf("command-r").add("blk.0.attn_q_norm.weight", {4, 2}));
  EXPECT_EQ(attention(plan, 0).qk_norm, QkNorm::kPerHeadWeights);
  EXPECT_EQ(name(plan.weights.layers[1].k_norm.weight), "blk.1.attn_k_norm.weight");
}

TEST(GgufMapper, KnowsModelsWithoutRope) {
  const ModelPlan gpt2 = plan_of(TinyGguf("gpt2").add("position_embd.weight", {256, 8}));
  EXPECT_TRUE(gpt2.spec.ropes.empty());
  EXPECT_THAT(ropes(gpt2), ElementsAre(-1, -1));
  EXPECT_EQ(gpt2.spec.learned_positions, 256);
  EXPECT_EQ(gpt2.spec.context, 256);
  const ModelPlan bloom = plan_of(TinyGguf("bloom"));
  EXPECT_TRUE(attention(bloom, 0).uses_alibi);
  EXPECT_TRUE(bloom.spec.has_embedding_norm);
  EXPECT_TRUE(attention(plan_of(TinyGguf("baichuan").set("block_count", 40U)), 0).uses_alibi);
  EXPECT_EQ(attention(plan_of(TinyGguf("baichuan")), 0).rope, 0);
}

TEST(GgufMapper, ReadsMultipliers) {
  const ModelPlan granite = plan_of(TinyGguf("granite")
                                        .set("attention.scale", 0.125F)
                                        .set("embedding_scale", 12.0F)
                                        .set("residual_scale", 0.25F)
                                        .set("logit_scale", 8.0F));
  EXPECT_FLOAT_EQ(attention(granite, 0).scale, 0.125F);
  EXPECT_FLOAT_EQ(granite.spec.embedding_scale, 12);
  EXPECT_FLOAT_EQ(granite.spec.residual_scale, 0.25F);
  EXPECT_FLOAT_EQ(granite.spec.logit_scale, 0.125F);
  const ModelPlan minicpm = plan_of(TinyGguf("minicpm"));
  EXPECT_FLOAT_EQ(minicpm.spec.logit_scale, 32);  // 256 over the width, in files without the key
}

TEST(GgufMapper, NamesTheNormsOfEachFamily) {
  EXPECT_FALSE(plan_of(TinyGguf("olmo")).spec.norm.has_affine);
  EXPECT_FALSE(plan_of(TinyGguf("olmo")).weights.final_norm.weight.exists());
  EXPECT_EQ(name(plan_of(TinyGguf("seed_oss")).weights.layers[0].ffn_norm.weight),
            "blk.0.post_attention_norm.weight");
  EXPECT_EQ(ffn(plan_of(TinyGguf("nemotron")), 0).activation, Activation::kReluSquared);
}

TEST(GgufMapper, LeavesOutLayersThatDraftTokens) {
  const ModelPlan plan = plan_of(TinyGguf("glm4")
                                     .set("block_count", 3U)
                                     .set("nextn_predict_layers", 1U)
                                     .set("feed_forward_length", std::vector<uint32_t>{4, 5, 6}));
  ASSERT_EQ(plan.spec.layers.size(), 2u);
  EXPECT_EQ(ffn(plan, 1).hidden, 5);
}

}  // namespace
}  // namespace ingot

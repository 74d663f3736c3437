// SPDX-License-Identifier: Apache-2.0
// What makes each family different, field by field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "model/hf_test_config.h"

namespace ingot {
namespace {

ModelPlan plan(std::string_view model_type, std::string_view changes = "{}") {
  Result<ModelPlan> result = plan_tiny(model_type, changes);
  EXPECT_TRUE(result.is_ok()) << model_type << ": " << result.status().message();
  return result.is_ok() ? *std::move(result) : ModelPlan();
}

const AttentionSpec& attention(const ModelPlan& plan, size_t layer = 0) {
  return std::get<AttentionSpec>(plan.spec.layers.at(layer).mixer);
}

const DenseFfnSpec& ffn(const ModelPlan& plan) {
  return std::get<DenseFfnSpec>(plan.spec.layers.at(0).ffn);
}

std::vector<int64_t> windows(const ModelPlan& plan) {
  std::vector<int64_t> found;
  for (size_t i = 0; i < plan.spec.layers.size(); ++i)
    found.push_back(attention(plan, i).window);
  return found;
}

std::vector<int> ropes(const ModelPlan& plan) {
  std::vector<int> found;
  for (size_t i = 0; i < plan.spec.layers.size(); ++i)
    found.push_back(attention(plan, i).rope);
  return found;
}

std::string name_of(const TensorSource& source) {
  return source.exists() ? source.parts[0].name : "";
}

using testing::ElementsAre;

TEST(HfMapper, ReadsTheFieldsOfLlama) {
  const ModelPlan llama = plan("llama", R"({"eos_token_id": [2, 7], "rms_norm_eps": 1e-5})");
  EXPECT_EQ(llama.spec.architecture, "llama");
  EXPECT_EQ(llama.spec.vocab, 512);
  EXPECT_EQ(llama.spec.hidden, 128);
  EXPECT_EQ(llama.spec.context, 512);
  EXPECT_EQ(llama.spec.layers.size(), 4U);
  EXPECT_EQ(llama.spec.norm.kind, NormKind::kRms);
  EXPECT_FLOAT_EQ(llama.spec.norm.eps, 1e-5F);
  EXPECT_THAT(llama.spec.eos_ids, ElementsAre(2, 7));
  EXPECT_EQ(llama.spec.bos_id, 1);
  EXPECT_FALSE(llama.spec.ties_output);
  EXPECT_EQ(attention(llama).heads, 4);
  EXPECT_EQ(attention(llama).kv_heads, 2);
  EXPECT_EQ(attention(llama).key_dim, 32);
  EXPECT_FLOAT_EQ(attention(llama).scale, 1 / std::sqrt(32.0F));
  EXPECT_EQ(ffn(llama).hidden, 256);
  EXPECT_TRUE(ffn(llama).is_gated);
  const LayerSources& layer = llama.weights.layers[3];
  EXPECT_EQ(name_of(layer.q.weight), "model.layers.3.self_attn.q_proj.weight");
  EXPECT_FALSE(layer.q.bias.exists());
  EXPECT_EQ(name_of(llama.weights.output.weight), "lm_head.weight");
}

TEST(HfMapper, TakesMissingFieldsFromTheFamily) {
  // LLaVA's text_config on the hub is hardly more than this.
  const Result<ModelPlan> llama = plan_text(R"({"model_type": "llama"})");
  ASSERT_TRUE(llama.is_ok());
  EXPECT_EQ(llama->spec.hidden, 4096);
  EXPECT_EQ(attention(*llama).kv_heads, 32);
  const Result<ModelPlan> gemma = plan_text(R"({"model_type": "gemma3_text"})");
  ASSERT_TRUE(gemma.is_ok());
  EXPECT_EQ(attention(*gemma).key_dim, 256);
  EXPECT_EQ(attention(*gemma).kv_heads, 4);
  EXPECT_TRUE(gemma->spec.ties_output);
}

TEST(HfMapper, TellsNullFromAbsent) {
  EXPECT_EQ(attention(plan("mistral", R"({"num_key_value_heads": null, "num_attention_heads": 8})"))
                .kv_heads,
            8);
  EXPECT_EQ(attention(plan("glm", R"({"num_key_value_heads": "null"})")).kv_heads, 4);
  EXPECT_THAT(windows(plan("mistral")), ElementsAre(4096, 4096, 4096, 4096));
  EXPECT_THAT(windows(plan("mistral", R"({"sliding_window": "null"})")), ElementsAre(0, 0, 0, 0));
}

TEST(HfMapper, RequiresTheBiasesAConfigPromises) {
  const ModelPlan llama = plan("llama", R"({"attention_bias": true, "mlp_bias": true})");
  EXPECT_TRUE(llama.weights.layers[0].q.bias.exists());
  EXPECT_TRUE(llama.weights.layers[0].o.bias.exists());
  EXPECT_TRUE(llama.weights.layers[0].down.bias.exists());
  EXPECT_FALSE(llama.weights.layers[0].q.bias.is_optional);
  const ModelPlan qwen = plan("qwen2");
  EXPECT_TRUE(qwen.weights.layers[0].v.bias.exists());
  EXPECT_FALSE(qwen.weights.layers[0].o.bias.exists());
}

TEST(HfMapper, LetsQwenSlideOnlyWhereItSaysSo) {
  const char* window = R"({"sliding_window": 64, "max_window_layers": 2})";
  EXPECT_THAT(windows(plan("qwen2", window)), ElementsAre(0, 0, 0, 0));
  const char* used =
      R"({"sliding_window": 64, "max_window_layers": 2, "use_sliding_window": true})";
  EXPECT_THAT(windows(plan("qwen2", used)), ElementsAre(0, 0, 64, 64));
  const ModelPlan qwen3 = plan("qwen3", used);
  EXPECT_THAT(windows(qwen3), ElementsAre(0, 0, 64, 64));
  EXPECT_EQ(attention(qwen3).qk_norm, QkNorm::kPerHead);
  EXPECT_EQ(attention(qwen3).key_dim, 128);  // its default, not hidden / heads
}

TEST(HfMapper, GivesGemmaItsScales) {
  const ModelPlan gemma = plan("gemma");
  EXPECT_TRUE(gemma.spec.norm.adds_one);
  EXPECT_FLOAT_EQ(gemma.spec.embedding_scale, std::sqrt(128.0F));
  EXPECT_EQ(ffn(gemma).activation, Activation::kGeluTanh);
  EXPECT_EQ(
      ffn(plan("gemma", R"({"hidden_act": "gelu", "hidden_activation": "gelu_new"})")).activation,
      Activation::kGeluTanh);

  const ModelPlan second = plan("gemma2", R"({"sliding_window": 20, "query_pre_attn_scalar": 64})");
  EXPECT_FLOAT_EQ(attention(second).scale, 0.125F);
  EXPECT_FLOAT_EQ(attention(second).softcap, 50);
  EXPECT_FLOAT_EQ(second.spec.logit_softcap, 30);
  EXPECT_THAT(windows(second), ElementsAre(20, 0, 20, 0));
  EXPECT_TRUE(second.spec.layers[0].has_mixer_post_norm);
  EXPECT_EQ(name_of(second.weights.layers[0].ffn_norm.weight),
            "model.layers.0.pre_feedforward_layernorm.weight");
  const ModelPlan uncapped =
      plan("gemma2", R"({"attn_logit_softcapping": "null", "final_logit_softcapping": "null"})");
  EXPECT_EQ(attention(uncapped).softcap, 0);
  EXPECT_EQ(uncapped.spec.logit_softcap, 0);
}

TEST(HfMapper, GivesGemma3TwoRopes) {
  const ModelPlan gemma = plan("gemma3_text", R"({"sliding_window": 20, "sliding_window_pattern": 2,
      "rope_theta": 5e5, "rope_local_base_freq": 2e4,
      "rope_scaling": {"rope_type": "linear", "factor": 8}})");
  EXPECT_THAT(windows(gemma), ElementsAre(20, 0, 20, 0));
  EXPECT_THAT(ropes(gemma), ElementsAre(1, 0, 1, 0));
  EXPECT_EQ(gemma.spec.ropes[0].theta, 5e5);
  EXPECT_EQ(gemma.spec.ropes[0].scaling, RopeScaling::kLinear);
  EXPECT_EQ(gemma.spec.ropes[1].theta, 2e4);
  EXPECT_EQ(gemma.spec.ropes[1].scaling, RopeScaling::kNone);
  EXPECT_TRUE(attention(gemma).qk_norm_spec.adds_one);
  EXPECT_EQ(gemma.spec.logit_softcap, 0);
}

TEST(HfMapper, FindsTheTextPartOfLargerModels) {
  const std::string text = tiny_config("gemma3_text");
  const Result<ModelPlan> gemma =
      plan_text(R"({"model_type": "gemma3", "text_config": )" + text + "}");
  ASSERT_TRUE(gemma.is_ok()) << gemma.status().message();
  const std::string name = name_of(gemma->weights.layers[1].q.weight);
  EXPECT_EQ(name, "language_model.model.layers.1.self_attn.q_proj.weight");
  EXPECT_THAT(gemma->weights.spellings(name),
              ElementsAre(name, "model.language_model.layers.1.self_attn.q_proj.weight"));
  EXPECT_TRUE(gemma->spec.ties_output);

  const Result<ModelPlan> llava =
      plan_text(R"({"model_type": "llava", "text_config": )" + tiny_config("llama") + "}");
  ASSERT_TRUE(llava.is_ok());
  EXPECT_EQ(name_of(llava->weights.output.weight), "language_model.lm_head.weight");
}

TEST(HfMapper, RunsPhiInParallelWithBiases) {
  const ModelPlan phi = plan("phi", R"({"qk_layernorm": true})");
  EXPECT_EQ(phi.spec.layers[0].form, BlockForm::kParallel);
  EXPECT_FALSE(phi.spec.layers[0].has_ffn_norm);
  EXPECT_EQ(phi.spec.ropes[0].rotary_dim, 16);
  EXPECT_EQ(attention(phi).qk_norm, QkNorm::kPerHead);
  EXPECT_TRUE(phi.weights.layers[0].q_norm.bias.exists());
  EXPECT_TRUE(phi.weights.output.bias.exists());
  EXPECT_FALSE(ffn(phi).is_gated);
}

TEST(HfMapper, CutsPhi3sFusedLinears) {
  const ModelPlan phi = plan("phi3", R"({"partial_rotary_factor": 0.75, "sliding_window": 48})");
  const LayerSources& layer = phi.weights.layers[0];
  EXPECT_THAT(layer.q.weight.parts[0].rows, ElementsAre(RowRange{0, 128}));
  EXPECT_THAT(layer.k.weight.parts[0].rows, ElementsAre(RowRange{128, 192}));
  EXPECT_THAT(layer.v.weight.parts[0].rows, ElementsAre(RowRange{192, 256}));
  EXPECT_THAT(layer.up.weight.parts[0].rows, ElementsAre(RowRange{256, 512}));
  EXPECT_EQ(phi.spec.ropes[0].rotary_dim, 24);
  EXPECT_THAT(windows(phi), ElementsAre(48, 48, 48, 48));
}

TEST(HfMapper, TransposesGpt2) {
  const char* sizes = R"({"n_embd": 128, "n_layer": 2, "n_head": 4, "n_positions": 64,
                          "scale_attn_by_inverse_layer_idx": true})";
  const ModelPlan gpt2 = plan("gpt2", sizes);
  EXPECT_EQ(gpt2.spec.learned_positions, 64);
  EXPECT_EQ(ffn(gpt2).hidden, 512);
  EXPECT_TRUE(gpt2.weights.layers[0].up.weight.parts[0].is_transposed);
  EXPECT_THAT(gpt2.weights.layers[0].k.bias.parts[0].rows, ElementsAre(RowRange{128, 256}));
  EXPECT_FLOAT_EQ(attention(gpt2, 1).scale, attention(gpt2, 0).scale / 2);
  EXPECT_THAT(gpt2.weights.spellings("transformer.wte.weight"),
              ElementsAre("transformer.wte.weight", "wte.weight"));
  EXPECT_EQ(attention(plan("gpt2", R"({"scale_attn_weights": false})")).scale, 1);
}

TEST(HfMapper, SharesOneKvHeadInBigCode) {
  const ModelPlan shared = plan("gpt_bigcode");
  EXPECT_EQ(attention(shared).kv_heads, 1);
  EXPECT_THAT(shared.weights.layers[0].v.weight.parts[0].rows, ElementsAre(RowRange{160, 192}));
  const ModelPlan own = plan("gpt_bigcode", R"({"multi_query": false})");
  EXPECT_EQ(attention(own).kv_heads, 4);
  EXPECT_THAT(
      own.weights.layers[0].k.weight.parts[0].rows,
      ElementsAre(RowRange{32, 64}, RowRange{128, 160}, RowRange{224, 256}, RowRange{320, 352}));
}

TEST(HfMapper, InterleavesNeoxHeadByHead) {
  const ModelPlan neox = plan("gpt_neox", R"({"rotary_pct": 0.5, "rotary_emb_base": 25000})");
  EXPECT_EQ(neox.spec.layers[0].form, BlockForm::kParallel);
  EXPECT_TRUE(neox.spec.layers[0].has_ffn_norm);
  EXPECT_EQ(neox.spec.ropes[0].rotary_dim, 16);
  EXPECT_EQ(neox.spec.ropes[0].theta, 25000);
  EXPECT_THAT(
      neox.weights.layers[0].q.weight.parts[0].rows,
      ElementsAre(RowRange{0, 32}, RowRange{96, 128}, RowRange{192, 224}, RowRange{288, 320}));
  EXPECT_EQ(neox.weights.layers[0].q.bias.parts[0].rows,
            neox.weights.layers[0].q.weight.parts[0].rows);
  EXPECT_EQ(plan("gpt_neox", R"({"use_parallel_residual": false})").spec.layers[0].form,
            BlockForm::kSequential);
}

TEST(HfMapper, KnowsFalconsThreeLayouts) {
  const ModelPlan small = plan("falcon");
  EXPECT_EQ(attention(small).kv_heads, 1);
  EXPECT_EQ(small.spec.layers[0].form, BlockForm::kParallel);
  EXPECT_FALSE(small.spec.layers[0].has_ffn_norm);
  EXPECT_THAT(small.weights.layers[0].k.weight.parts[0].rows, ElementsAre(RowRange{128, 160}));

  const ModelPlan grouped = plan("falcon", R"({"new_decoder_architecture": true,
                                               "num_kv_heads": 2})");
  EXPECT_THAT(grouped.weights.layers[0].q.weight.parts[0].rows,
              ElementsAre(RowRange{0, 64}, RowRange{128, 192}));
  EXPECT_THAT(grouped.weights.layers[0].v.weight.parts[0].rows,
              ElementsAre(RowRange{96, 128}, RowRange{224, 256}));
  EXPECT_EQ(name_of(grouped.weights.layers[0].ffn_norm.weight), "transformer.h.0.ln_mlp.weight");
  EXPECT_FALSE(plan("falcon", R"({"new_decoder_architecture": true, "num_kv_heads": 2,
                                  "num_ln_in_parallel_attn": 1})")
                   .spec.layers[0]
                   .has_ffn_norm);

  const ModelPlan web = plan("falcon", R"({"alibi": true, "bias": true, "multi_query": false,
                                           "parallel_attn": false})");
  EXPECT_TRUE(attention(web).uses_alibi);
  EXPECT_FLOAT_EQ(attention(web).alibi_scale, 1 / std::sqrt(32.0F));
  EXPECT_EQ(attention(web).rope, -1);
  EXPECT_EQ(attention(web).kv_heads, 4);
  EXPECT_EQ(web.spec.layers[0].form, BlockForm::kSequential);
  EXPECT_TRUE(web.weights.layers[0].q.bias.exists());
  EXPECT_EQ(name_of(web.weights.layers[0].ffn_norm.weight),
            "transformer.h.0.post_attention_layernorm.weight");
}

TEST(HfMapper, NormsEveryHeadOfStableLm) {
  const ModelPlan stable = plan("stablelm", R"({"qk_layernorm": true, "use_qkv_bias": true,
                                                "use_parallel_residual": true})");
  EXPECT_EQ(attention(stable).qk_norm, QkNorm::kPerHeadWeights);
  EXPECT_EQ(stable.weights.layers[0].q_norm.weight.parts.size(), 4U);
  EXPECT_EQ(stable.weights.layers[0].k_norm.weight.parts[1].name,
            "model.layers.0.self_attn.k_layernorm.norms.1.weight");
  EXPECT_EQ(stable.spec.layers[0].form, BlockForm::kParallel);
  EXPECT_FALSE(stable.weights.layers[0].ffn_norm.weight.exists());
  EXPECT_EQ(stable.spec.ropes[0].rotary_dim, 8);
}

TEST(HfMapper, PutsOlmosNormsWhereTheyAre) {
  const ModelPlan first = plan("olmo", R"({"clip_qkv": 8})");
  EXPECT_FALSE(first.spec.norm.has_affine);
  EXPECT_EQ(first.spec.norm.kind, NormKind::kLayer);
  EXPECT_EQ(attention(first).clip_qkv, 8);
  const ModelPlan second = plan("olmo2");
  EXPECT_FALSE(second.spec.layers[0].has_mixer_norm);
  EXPECT_TRUE(second.spec.layers[0].has_ffn_post_norm);
  EXPECT_EQ(attention(second).qk_norm, QkNorm::kWhole);
  const ModelPlan third = plan("olmo3", R"({"sliding_window": 24, "rope_theta": 1e4})");
  EXPECT_THAT(windows(third), ElementsAre(24, 24, 24, 0));
  EXPECT_THAT(ropes(third), ElementsAre(1, 1, 1, 0));
  EXPECT_EQ(third.spec.ropes[0].theta, 1e4);
  EXPECT_EQ(third.spec.ropes[1].theta, 5e5);
}

TEST(HfMapper, DividesGranitesLogits) {
  const ModelPlan granite = plan("granite", R"({"logits_scaling": 8, "attention_multiplier": 0.125,
      "embedding_multiplier": 12, "residual_multiplier": 0.22})");
  EXPECT_FLOAT_EQ(granite.spec.logit_scale, 0.125F);
  EXPECT_FLOAT_EQ(granite.spec.embedding_scale, 12);
  EXPECT_FLOAT_EQ(granite.spec.residual_scale, 0.22F);
  EXPECT_FLOAT_EQ(attention(granite).scale, 0.125F);
}

TEST(HfMapper, TurnsCoheresNeighbours) {
  const ModelPlan first = plan("cohere", R"({"use_qk_norm": true})");
  EXPECT_EQ(first.spec.ropes[0].pairing, RopePairing::kNeighbours);
  EXPECT_EQ(attention(first).qk_norm, QkNorm::kPerHeadWeights);
  EXPECT_FLOAT_EQ(first.spec.logit_scale, 0.0625F);
  EXPECT_FALSE(first.weights.layers[0].mixer_norm.bias.exists());
  const ModelPlan second = plan("cohere2", R"({"sliding_window": 24})");
  EXPECT_THAT(windows(second), ElementsAre(24, 24, 24, 0));
  EXPECT_THAT(ropes(second), ElementsAre(0, 0, 0, -1));
}

TEST(HfMapper, TurnsHalfOfGlm) {
  const ModelPlan glm = plan("glm4", R"({"head_dim": 32})");
  EXPECT_EQ(glm.spec.ropes[0].rotary_dim, 16);
  EXPECT_EQ(glm.spec.ropes[0].pairing, RopePairing::kNeighbours);
  EXPECT_TRUE(glm.weights.layers[0].q.bias.exists());
  EXPECT_FALSE(glm.weights.layers[0].o.bias.exists());
  EXPECT_EQ(name_of(glm.weights.layers[0].ffn_norm.weight),
            "model.layers.0.post_attention_layernorm.weight");
  EXPECT_EQ(name_of(glm.weights.layers[0].ffn_post_norm.weight),
            "model.layers.0.post_mlp_layernorm.weight");
  EXPECT_FALSE(plan("glm").spec.layers[0].has_mixer_post_norm);
}

TEST(HfMapper, LeavesSomeLayersUnturned) {
  EXPECT_THAT(ropes(plan("smollm3")), ElementsAre(0, 0, 0, -1));
  EXPECT_THAT(ropes(plan("smollm3", R"({"no_rope_layers": [1, 0, 1, 0]})")),
              ElementsAre(0, -1, 0, -1));
  const ModelPlan hybrid = plan("exaone4", R"({"sliding_window": 24})");
  EXPECT_THAT(ropes(hybrid), ElementsAre(0, 0, 0, -1));
  EXPECT_THAT(windows(hybrid), ElementsAre(24, 24, 24, 0));
  EXPECT_THAT(windows(plan("exaone4", R"({"sliding_window": 24,
                                          "sliding_window_pattern": "LG"})")),
              ElementsAre(24, 0, 24, 0));
  EXPECT_THAT(ropes(plan("exaone4", R"({"sliding_window": "null"})")), ElementsAre(0, 0, 0, 0));
}

TEST(HfMapper, PlacesOptsNormsAndPositions) {
  const ModelPlan opt = plan("opt", R"({"ffn_dim": 256})");
  EXPECT_EQ(opt.spec.learned_positions, 514);
  EXPECT_EQ(opt.spec.position_offset, 2);
  EXPECT_EQ(opt.spec.embedding_dim, 0);
  EXPECT_TRUE(opt.spec.has_final_norm);
  EXPECT_EQ(ffn(opt).activation, Activation::kRelu);
  const ModelPlan older = plan("opt", R"({"do_layer_norm_before": false,
                                          "word_embed_proj_dim": 64})");
  EXPECT_EQ(older.spec.layers[0].form, BlockForm::kPostResidual);
  EXPECT_EQ(older.spec.embedding_dim, 64);
  EXPECT_FALSE(older.spec.has_final_norm);
  EXPECT_EQ(name_of(older.weights.embedding_in.weight), "model.decoder.project_in.weight");
  EXPECT_FALSE(plan("opt", R"({"_remove_final_layer_norm": true})").spec.has_final_norm);
}

TEST(HfMapper, KnowsTheRest) {
  EXPECT_TRUE(plan("nemotron").spec.norm.adds_one);
  EXPECT_EQ(ffn(plan("nemotron")).activation, Activation::kReluSquared);
  EXPECT_EQ(plan("ernie4_5").spec.ropes[0].pairing, RopePairing::kNeighbours);
  EXPECT_TRUE(plan("seed_oss").weights.layers[0].q.bias.exists());
  EXPECT_TRUE(plan("starcoder2").weights.layers[0].up.bias.exists());
  EXPECT_FALSE(ffn(plan("arcee")).is_gated);
  EXPECT_EQ(plan("helium").spec.ropes[0].theta, 1e5);
  EXPECT_TRUE(attention(plan("hunyuan_v1_dense")).norm_after_rope);
  EXPECT_TRUE(plan("bloom").spec.has_embedding_norm);
  EXPECT_TRUE(attention(plan("mpt", R"({"attn_config": {"clip_qkv": 6}})")).uses_alibi);
  EXPECT_EQ(
      plan("gptj", R"({"n_embd": 128, "n_head": 4, "rotary_dim": 16})").spec.ropes[0].rotary_dim,
      16);
  EXPECT_THAT(windows(plan("gpt_neo", R"({"num_layers": 2, "num_heads": 4})")),
              ElementsAre(0, 256));
  EXPECT_THAT(plan("internlm2").weights.layers[0].k.weight.parts[0].rows,
              ElementsAre(RowRange{64, 96}, RowRange{192, 224}));
  EXPECT_FLOAT_EQ(plan("minicpm", R"({"dim_model_base": 64})").spec.logit_scale, 0.5F);
  EXPECT_EQ(name_of(plan("exaone").weights.layers[0].gate.weight),
            "transformer.h.0.mlp.c_fc_0.weight");
}

TEST(HfMapper, StretchesHunyuansBase) {
  const ModelPlan hunyuan = plan("hunyuan_v1_dense", R"({"rope_scaling":
      {"type": "dynamic", "factor": 1.0, "alpha": 1000.0}})");
  EXPECT_EQ(hunyuan.spec.ropes[0].scaling, RopeScaling::kNone);
  EXPECT_NEAR(hunyuan.spec.ropes[0].theta, 1e4 * std::pow(1000.0, 32.0 / 30.0), 1e-3);
}

// Every mapper of the list, on the plainest config there is.
TEST(HfMapper, NamesEachWeightOnce) {
  for (const HfMapper& mapper : hf_mappers()) {
    SCOPED_TRACE(mapper.model_type);
    const std::string changes = R"({"rotary_dim": 8, "text_config": {"model_type": "llama"}})";
    const Result<ModelPlan> result = plan_tiny(mapper.model_type, changes);
    ASSERT_TRUE(result.is_ok()) << result.status().message();
    ASSERT_EQ(result->weights.layers.size(), result->spec.layers.size());
    std::set<std::string> seen;
    for_each_source(result->weights, [&](const TensorSource& source) {
      for (const TensorPart& part : source.parts) {
        if (part.rows.empty()) {
          EXPECT_TRUE(seen.insert(part.name).second) << part.name << " is used twice";
        }
      }
    });
    EXPECT_TRUE(result->weights.embedding.exists());
    EXPECT_EQ(result->weights.output.weight.exists(), !result->spec.ties_output);
  }
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// Gemma 1, 2 and 3: norms stored as w - 1, embeddings scaled by sqrt(hidden). Gemma 2 and 3 norm
// each branch on both sides and let some layers slide; Gemma 3 turns those by a rope of their own.
#include <cmath>

#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kGemma = {.architecture = "gemma",
                                  .vocab = 256000,
                                  .hidden = 3072,
                                  .ffn = 24576,
                                  .layers = 28,
                                  .heads = 16,
                                  .kv_heads = 16,
                                  .head_dim = 256,
                                  .context = 8192,
                                  .norm_eps = 1e-6,
                                  .activation = "gelu_pytorch_tanh",
                                  .ties_output = true,
                                  .bos = 2,
                                  .eos = 1};

constexpr DecoderFamily kGemma2 = {.architecture = "gemma2",
                                   .vocab = 256000,
                                   .hidden = 2304,
                                   .ffn = 9216,
                                   .layers = 26,
                                   .heads = 8,
                                   .kv_heads = 4,
                                   .head_dim = 256,
                                   .context = 8192,
                                   .norm_eps = 1e-6,
                                   .activation = "gelu_pytorch_tanh",
                                   .ties_output = true,
                                   .bos = 2,
                                   .eos = 1,
                                   .activation_key = "hidden_activation"};

Result<HfDecoder> read_gemma(const HfConfig& config, const DecoderFamily& family) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, family));
  INGOT_TRY(const bool sees_ahead, config.boolean_or("use_bidirectional_attention", false));
  if (sees_ahead) {
    return config.unsupported("use_bidirectional_attention",
                              "attention to later tokens is not supported");
  }
  decoder.spec.norm.adds_one = true;
  decoder.spec.embedding_scale = std::sqrt(static_cast<float>(decoder.spec.hidden));
  return decoder;
}

// Gemma 2 and 3. A null cap means none, an absent one the family's.
Status read_scores(const HfConfig& config, double logit_cap, HfDecoder& decoder) {
  INGOT_TRY(const float scalar, read_real(config, "query_pre_attn_scalar", 256));
  decoder.attention.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(scalar)));
  if (!config.is_null("final_logit_softcapping")) {
    INGOT_TRY(decoder.spec.logit_softcap, read_real(config, "final_logit_softcapping", logit_cap));
  }
  return Status::ok();
}

void name_sandwich_norms(ModelPlan& plan) {
  for (size_t i = 0; i < plan.spec.layers.size(); ++i) {
    plan.spec.layers[i].has_mixer_post_norm = true;
    plan.spec.layers[i].has_ffn_post_norm = true;
    const std::string name = fmt::format("model.layers.{}.", i);
    LayerSources& layer = plan.weights.layers[i];
    layer.mixer_post_norm = norm_named(name + "post_attention_layernorm", false);
    layer.ffn_norm = norm_named(name + "pre_feedforward_layernorm", false);
    layer.ffn_post_norm = norm_named(name + "post_feedforward_layernorm", false);
  }
}

}  // namespace

Result<ModelPlan> map_hf_gemma(const HfConfig& config) {
  DecoderFamily family = kGemma;
  // The first files say hidden_act "gelu" and mean the other field, which came later.
  family.activation_key = config.first_of({"hidden_activation", "hidden_act"});
  INGOT_TRY(HfDecoder decoder, read_gemma(config, family));
  INGOT_TRY(add_rope(config, {}, decoder));
  INGOT_TRY(const LlamaBiases biases, read_attention_biases(config));
  return llama_plan(decoder, biases);
}

Result<ModelPlan> map_hf_gemma2(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_gemma(config, kGemma2));
  INGOT_TRY(add_rope(config, {}, decoder));
  INGOT_TRY(read_scores(config, 30, decoder));
  if (!config.is_null("attn_logit_softcapping")) {
    INGOT_TRY(decoder.attention.softcap, read_real(config, "attn_logit_softcapping", 50));
  }
  INGOT_TRY(const int64_t window, read_window(config, 4096));
  INGOT_TRY(
      const std::vector<bool> slides,
      read_sliding_layers(config, decoder.layers, [](int64_t layer) { return layer % 2 == 0; }));
  INGOT_TRY(const LlamaBiases biases, read_attention_biases(config));
  ModelPlan plan = llama_plan(decoder, biases);
  name_sandwich_norms(plan);
  set_windows(slides, window, plan);
  return plan;
}

Result<ModelPlan> map_hf_gemma3_text(const HfConfig& config) {
  DecoderFamily family = kGemma2;
  family.architecture = "gemma3";
  family.vocab = 262208;
  family.context = 131072;
  INGOT_TRY(HfDecoder decoder, read_gemma(config, family));
  INGOT_TRY(add_rope_per_layer_type(config, {.theta = 1e6},
                                    {.theta = 1e4, .theta_key = "rope_local_base_freq"}, decoder));
  INGOT_TRY(read_scores(config, 0, decoder));
  decoder.attention.qk_norm = QkNorm::kPerHead;
  decoder.attention.qk_norm_spec = decoder.spec.norm;
  INGOT_TRY(const int64_t window, read_window(config, 4096));
  INGOT_TRY(const int64_t pattern, read_window_pattern(config, 6));
  INGOT_TRY(const std::vector<bool> slides,
            read_sliding_layers(config, decoder.layers,
                                [&](int64_t layer) { return (layer + 1) % pattern != 0; }));
  INGOT_TRY(const LlamaBiases biases, read_attention_biases(config));
  ModelPlan plan = llama_plan(decoder, biases);
  name_qk_norms("q_norm", "k_norm", false, plan);
  name_sandwich_norms(plan);
  set_windows(slides, window, plan);
  set_ropes(slides, 1, plan);
  return plan;
}

}  // namespace ingot

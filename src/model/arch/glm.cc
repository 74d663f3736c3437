// SPDX-License-Identifier: Apache-2.0
// GLM-4 of 2024 (glm) and of 2025 (glm4, with norms on both sides of each branch): half of each
// head turned, neighbour by neighbour.
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kGlm = {.architecture = "glm",
                                .vocab = 151552,
                                .hidden = 4096,
                                .ffn = 13696,
                                .layers = 40,
                                .heads = 32,
                                .kv_heads = 2,
                                .head_dim = 128,
                                .context = 131072,
                                .norm_eps = 1.5625e-7};

Result<ModelPlan> glm_plan(const HfConfig& config, const DecoderFamily& family) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, family));
  INGOT_TRY(add_rope(config, {.pairing = RopePairing::kNeighbours, .partial = 0.5}, decoder));
  if (!config.has("eos_token_id") && decoder.spec.vocab > 151338)
    decoder.spec.eos_ids = {151329, 151336, 151338};
  INGOT_TRY(const bool attention_bias, config.boolean_or("attention_bias", true));
  ModelPlan plan = llama_plan(decoder, {.qkv = attention_bias});
  for (size_t i = 0; i < plan.weights.layers.size(); ++i) {
    split_gate_up(linear_named(fmt::format("model.layers.{}.mlp.gate_up_proj", i), false),
                  decoder.ffn.hidden, plan.weights.layers[i]);
  }
  return plan;
}

}  // namespace

Result<ModelPlan> map_hf_glm(const HfConfig& config) {
  return glm_plan(config, kGlm);
}

Result<ModelPlan> map_hf_glm4(const HfConfig& config) {
  DecoderFamily family = kGlm;
  family.architecture = "glm4";
  INGOT_TRY(ModelPlan plan, glm_plan(config, family));
  for (size_t i = 0; i < plan.weights.layers.size(); ++i) {
    plan.spec.layers[i].has_mixer_post_norm = true;
    plan.spec.layers[i].has_ffn_post_norm = true;
    const std::string name = fmt::format("model.layers.{}.", i);
    plan.weights.layers[i].mixer_post_norm = norm_named(name + "post_self_attn_layernorm", false);
    plan.weights.layers[i].ffn_post_norm = norm_named(name + "post_mlp_layernorm", false);
  }
  return plan;
}

}  // namespace ingot

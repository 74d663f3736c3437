// SPDX-License-Identifier: Apache-2.0
// Command R (Cohere) and Command R7B and later (Cohere 2): parallel branches behind one layer norm
// without bias, neighbouring dimensions turned. Cohere 2 turns in its sliding layers only.
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kCohere = {.architecture = "cohere",
                                   .vocab = 256000,
                                   .hidden = 8192,
                                   .ffn = 22528,
                                   .layers = 40,
                                   .heads = 64,
                                   .context = 8192,
                                   .norm = NormKind::kLayer,
                                   .ties_output = true,
                                   .bos = 5,
                                   .eos = 255001,
                                   .norm_eps_key = "layer_norm_eps"};

Result<ModelPlan> cohere_plan(const HfConfig& config, HfDecoder& decoder) {
  INGOT_TRY(decoder.spec.logit_scale, read_real(config, "logit_scale", 0.0625));
  INGOT_TRY(const bool attention_bias, config.boolean_or("attention_bias", false));
  ModelPlan plan = llama_plan(decoder, {.qkv = attention_bias, .o = attention_bias});
  for (size_t i = 0; i < plan.spec.layers.size(); ++i) {
    plan.spec.layers[i].form = BlockForm::kParallel;
    plan.spec.layers[i].has_ffn_norm = false;
    plan.weights.layers[i].ffn_norm = {};
  }
  return plan;
}

}  // namespace

Result<ModelPlan> map_hf_cohere(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kCohere));
  INGOT_TRY(add_rope(config, {.pairing = RopePairing::kNeighbours, .theta = 5e5}, decoder));
  INGOT_TRY(const bool has_qk_norm, config.boolean_or("use_qk_norm", false));
  if (has_qk_norm) {
    decoder.attention.qk_norm = QkNorm::kPerHeadWeights;
    decoder.attention.qk_norm_spec = decoder.spec.norm;
  }
  INGOT_TRY(ModelPlan plan, cohere_plan(config, decoder));
  if (has_qk_norm) name_qk_norms("q_norm", "k_norm", false, plan);
  return plan;
}

Result<ModelPlan> map_hf_cohere2(const HfConfig& config) {
  DecoderFamily family = kCohere;
  family.architecture = "cohere2";
  family.head_dim_key = "";
  INGOT_TRY(HfDecoder decoder, read_decoder(config, family));
  INGOT_TRY(add_rope(config, {.pairing = RopePairing::kNeighbours}, decoder));
  decoder.attention.rope = -1;
  INGOT_TRY(const int64_t window, read_window(config, 4096));
  INGOT_TRY(const int64_t pattern, read_window_pattern(config, 4));
  INGOT_TRY(const std::vector<bool> slides,
            read_sliding_layers(config, decoder.layers,
                                [&](int64_t layer) { return (layer + 1) % pattern != 0; }));
  INGOT_TRY(ModelPlan plan, cohere_plan(config, decoder));
  if (window > 0) {
    set_windows(slides, window, plan);
    set_ropes(slides, 0, plan);
  }
  return plan;
}

}  // namespace ingot

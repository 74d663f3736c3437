// SPDX-License-Identifier: Apache-2.0
// OLMo 1 (norms without weights, clamped q, k and v), OLMo 2 (norms after the branches, and over
// all queries and keys at once), OLMo 3 (OLMo 2 with sliding layers).
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kOlmo = {.architecture = "olmo",
                                 .vocab = 50304,
                                 .hidden = 4096,
                                 .ffn = 11008,
                                 .layers = 32,
                                 .heads = 32,
                                 .context = 2048,
                                 .norm = NormKind::kLayer,
                                 .eos = 50279,
                                 .norm_eps_key = ""};

DecoderFamily later_olmo(std::string_view architecture) {
  DecoderFamily family = kOlmo;
  family.architecture = architecture;
  family.norm = NormKind::kRms;
  family.norm_eps_key = "rms_norm_eps";
  return family;
}

ModelPlan later_plan(HfDecoder& decoder, const LlamaBiases& biases) {
  decoder.attention.qk_norm = QkNorm::kWhole;
  decoder.attention.qk_norm_spec = decoder.spec.norm;
  ModelPlan plan = llama_plan(decoder, biases);
  name_qk_norms("q_norm", "k_norm", false, plan);
  use_post_norms(plan);
  return plan;
}

}  // namespace

Result<ModelPlan> map_hf_olmo(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kOlmo));
  INGOT_TRY(add_rope(config, {}, decoder));
  INGOT_TRY(decoder.attention.clip_qkv, read_real(config, "clip_qkv", 0));
  INGOT_TRY(const LlamaBiases biases, read_attention_biases(config));
  decoder.spec.norm.has_affine = false;
  ModelPlan plan = llama_plan(decoder, biases);
  plan.weights.final_norm = {};
  for (LayerSources& layer : plan.weights.layers) {
    layer.mixer_norm = {};
    layer.ffn_norm = {};
  }
  return plan;
}

Result<ModelPlan> map_hf_olmo2(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, later_olmo("olmo2")));
  INGOT_TRY(add_rope(config, {}, decoder));
  INGOT_TRY(const LlamaBiases biases, read_attention_biases(config));
  return later_plan(decoder, biases);
}

Result<ModelPlan> map_hf_olmo3(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, later_olmo("olmo3")));
  // In the older spelling rope_theta speaks of the full layers only.
  INGOT_TRY(
      add_rope_per_layer_type(config, {.theta = 5e5}, {.theta = 5e5, .theta_key = ""}, decoder));
  INGOT_TRY(const int64_t window, read_window(config, 4096));
  INGOT_TRY(const std::vector<bool> slides,
            read_sliding_layers(config, decoder.layers,
                                [](int64_t layer) { return (layer + 1) % 4 != 0; }));
  INGOT_TRY(const LlamaBiases biases, read_attention_biases(config));
  ModelPlan plan = later_plan(decoder, biases);
  set_windows(slides, window, plan);
  set_ropes(slides, 1, plan);
  return plan;
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// Phi 1, 1.5 and 2 (parallel branches, biases everywhere); Phi 3 and 4 (Llama with fused linears).
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kPhi = {.architecture = "phi",
                                .vocab = 51200,
                                .hidden = 2048,
                                .ffn = 8192,
                                .layers = 24,
                                .heads = 32,
                                .context = 2048,
                                .norm = NormKind::kLayer,
                                .activation = "gelu_new",
                                .bos = 1,
                                .eos = 2,
                                .norm_eps_key = "layer_norm_eps"};

constexpr DecoderFamily kPhi3 = {.architecture = "phi3",
                                 .vocab = 32064,
                                 .hidden = 3072,
                                 .ffn = 8192,
                                 .layers = 32,
                                 .heads = 32,
                                 .context = 4096,
                                 .bos = 1,
                                 .eos = 32000};

}  // namespace

Result<ModelPlan> map_hf_phi(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kPhi));
  INGOT_TRY(add_rope(config, {.partial = 0.5}, decoder));
  INGOT_TRY(const bool has_qk_norm, config.boolean_or("qk_layernorm", false));
  decoder.ffn.is_gated = false;
  if (has_qk_norm) {
    decoder.attention.qk_norm = QkNorm::kPerHead;
    decoder.attention.qk_norm_spec = decoder.spec.norm;
  }
  ModelPlan plan = llama_plan(decoder, {.qkv = true, .norm = true});
  if (has_qk_norm) name_qk_norms("q_layernorm", "k_layernorm", true, plan);
  plan.weights.final_norm = norm_named("model.final_layernorm", true);
  name_output("lm_head", true, plan);
  for (size_t i = 0; i < plan.spec.layers.size(); ++i) {
    plan.spec.layers[i].form = BlockForm::kParallel;
    plan.spec.layers[i].has_ffn_norm = false;
    const std::string name = fmt::format("model.layers.{}.", i);
    LayerSources& layer = plan.weights.layers[i];
    layer.ffn_norm = {};
    layer.o = linear_named(name + "self_attn.dense", true);
    layer.up = linear_named(name + "mlp.fc1", true);
    layer.down = linear_named(name + "mlp.fc2", true);
  }
  return plan;
}

Result<ModelPlan> map_hf_phi3(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kPhi3));
  INGOT_TRY(add_rope(
      config, {.partial = 1.0, .original_context = 4096, .takes_yarn_as_longrope = true}, decoder));
  INGOT_TRY(decoder.attention.window, read_window(config, 0));
  ModelPlan plan = llama_plan(decoder, {});
  for (size_t i = 0; i < plan.weights.layers.size(); ++i) {
    const std::string name = fmt::format("model.layers.{}.", i);
    LayerSources& layer = plan.weights.layers[i];
    split_qkv(linear_named(name + "self_attn.qkv_proj", false), decoder.attention, layer);
    split_gate_up(linear_named(name + "mlp.gate_up_proj", false), decoder.ffn.hidden, layer);
  }
  return plan;
}

}  // namespace ingot

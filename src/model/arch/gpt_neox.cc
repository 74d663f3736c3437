// SPDX-License-Identifier: Apache-2.0
// GPT-NeoX and Pythia: parallel branches with a norm each, q, k and v interleaved head by head.
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kGptNeox = {.architecture = "gpt_neox",
                                    .vocab = 50432,
                                    .hidden = 6144,
                                    .ffn = 24576,
                                    .layers = 44,
                                    .heads = 64,
                                    .context = 2048,
                                    .norm = NormKind::kLayer,
                                    .activation = "gelu",
                                    .bos = 0,
                                    .eos = 2,
                                    .kv_heads_key = "",
                                    .head_dim_key = "",
                                    .norm_eps_key = "layer_norm_eps"};

}  // namespace

Result<ModelPlan> map_hf_gpt_neox(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kGptNeox));
  INGOT_TRY(add_rope(config,
                     {.theta_key = "rotary_emb_base", .partial = 0.25, .partial_key = "rotary_pct"},
                     decoder));
  INGOT_TRY(const bool is_parallel, config.boolean_or("use_parallel_residual", true));
  INGOT_TRY(const bool attention_bias, config.boolean_or("attention_bias", true));
  decoder.ffn.is_gated = false;

  ModelPlan plan = unnamed_plan(decoder);
  WeightMap& weights = plan.weights;
  weights.aliases = {{"gpt_neox.", ""}, {"embed_out.", "lm_head."}};
  weights.embedding = TensorSource::named("gpt_neox.embed_in.weight");
  weights.final_norm = norm_named("gpt_neox.final_layer_norm", true);
  name_output("embed_out", false, plan);
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    if (is_parallel) plan.spec.layers[i].form = BlockForm::kParallel;
    const std::string name = fmt::format("gpt_neox.layers.{}.", i);
    LayerSources& layer = weights.layers[i];
    layer.mixer_norm = norm_named(name + "input_layernorm", true);
    split_grouped_qkv(linear_named(name + "attention.query_key_value", attention_bias),
                      decoder.attention, layer);
    layer.o = linear_named(name + "attention.dense", attention_bias);
    layer.ffn_norm = norm_named(name + "post_attention_layernorm", true);
    layer.up = linear_named(name + "mlp.dense_h_to_4h", true);
    layer.down = linear_named(name + "mlp.dense_4h_to_h", true);
  }
  return plan;
}

}  // namespace ingot

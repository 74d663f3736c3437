// SPDX-License-Identifier: Apache-2.0
// GPT-J: parallel branches behind one norm, the first `rotary_dim` dimensions turned neighbour by
// neighbour.
#include "base/limits.h"
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"

namespace ingot {
namespace {

constexpr DecoderFamily kGptJ = {.architecture = "gptj",
                                 .vocab = 50400,
                                 .hidden = 4096,
                                 .ffn = 0,
                                 .layers = 28,
                                 .heads = 16,
                                 .context = 2048,
                                 .norm = NormKind::kLayer,
                                 .activation = "gelu_new",
                                 .bos = 50256,
                                 .eos = 50256,
                                 .hidden_key = "n_embd",
                                 .ffn_key = "n_inner",
                                 .layers_key = "n_layer",
                                 .heads_key = "n_head",
                                 .kv_heads_key = "",
                                 .head_dim_key = "",
                                 .context_key = "n_positions",
                                 .norm_eps_key = "layer_norm_epsilon",
                                 .activation_key = "activation_function"};

Status add_gptj_rope(const HfConfig& config, HfDecoder& decoder) {
  if (config.is_null("rotary_dim")) return config.unsupported("rotary_dim", "null");
  RopeSpec rope;
  rope.pairing = RopePairing::kNeighbours;
  INGOT_TRY(rope.rotary_dim, config.integer_or("rotary_dim", 64, {2, decoder.attention.key_dim}));
  if (rope.rotary_dim % 2 != 0 || rope.rotary_dim > decoder.attention.key_dim)
    return config.error("rotary_dim", "must be even and no more than a head's dimensions");
  decoder.spec.ropes.push_back(rope);
  decoder.attention.rope = 0;
  return Status::ok();
}

}  // namespace

Result<ModelPlan> map_hf_gptj(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kGptJ));
  INGOT_TRY(add_gptj_rope(config, decoder));
  decoder.ffn.is_gated = false;
  ModelPlan plan = unnamed_plan(decoder);
  WeightMap& weights = plan.weights;
  weights.aliases = {{"transformer.", ""}};
  weights.embedding = TensorSource::named("transformer.wte.weight");
  weights.final_norm = norm_named("transformer.ln_f", true);
  name_output("lm_head", true, plan);
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    plan.spec.layers[i].form = BlockForm::kParallel;
    plan.spec.layers[i].has_ffn_norm = false;
    const std::string name = fmt::format("transformer.h.{}.", i);
    LayerSources& layer = weights.layers[i];
    layer.mixer_norm = norm_named(name + "ln_1", true);
    layer.q = linear_named(name + "attn.q_proj", false);
    layer.k = linear_named(name + "attn.k_proj", false);
    layer.v = linear_named(name + "attn.v_proj", false);
    layer.o = linear_named(name + "attn.out_proj", false);
    layer.up = linear_named(name + "mlp.fc_in", true);
    layer.down = linear_named(name + "mlp.fc_out", true);
  }
  return plan;
}

}  // namespace ingot

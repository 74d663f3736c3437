// SPDX-License-Identifier: Apache-2.0
// EXAONE 3: Llama under other names.
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kExaone = {.architecture = "exaone",
                                   .vocab = 102400,
                                   .hidden = 2048,
                                   .ffn = 0,
                                   .layers = 32,
                                   .heads = 32,
                                   .context = 2048,
                                   .ties_output = true,
                                   .bos = 0,
                                   .eos = 2,
                                   .norm_eps_key = "layer_norm_epsilon",
                                   .activation_key = "activation_function"};

}  // namespace

Result<ModelPlan> map_hf_exaone(const HfConfig& config) {
  DecoderFamily family = kExaone;
  family.layers_key = config.first_of({"num_layers", "num_hidden_layers"});
  INGOT_TRY(HfDecoder decoder, read_decoder(config, family));
  INGOT_TRY(add_rope(config, {}, decoder));
  ModelPlan plan = unnamed_plan(decoder);
  WeightMap& weights = plan.weights;
  weights.embedding = TensorSource::named("transformer.wte.weight");
  weights.final_norm = norm_named("transformer.ln_f", false);
  name_output("lm_head", false, plan);
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    const std::string name = fmt::format("transformer.h.{}.", i);
    LayerSources& layer = weights.layers[i];
    layer.mixer_norm = norm_named(name + "ln_1", false);
    layer.q = linear_named(name + "attn.attention.q_proj", false);
    layer.k = linear_named(name + "attn.attention.k_proj", false);
    layer.v = linear_named(name + "attn.attention.v_proj", false);
    layer.o = linear_named(name + "attn.attention.out_proj", false);
    layer.ffn_norm = norm_named(name + "ln_2", false);
    layer.gate = linear_named(name + "mlp.c_fc_0", false);
    layer.up = linear_named(name + "mlp.c_fc_1", false);
    layer.down = linear_named(name + "mlp.c_proj", false);
  }
  return plan;
}

}  // namespace ingot

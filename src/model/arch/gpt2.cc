// SPDX-License-Identifier: Apache-2.0
// GPT-2 (matrices stored transposed) and GPT-BigCode (StarCoder 1, SantaCoder: one kv head).
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"

namespace ingot {
namespace {

constexpr DecoderFamily kGpt2 = {.architecture = "gpt2",
                                 .vocab = 50257,
                                 .hidden = 768,
                                 .ffn = 0,
                                 .layers = 12,
                                 .heads = 12,
                                 .context = 1024,
                                 .norm = NormKind::kLayer,
                                 .activation = "gelu_new",
                                 .ties_output = true,
                                 .bos = 50256,
                                 .eos = 50256,
                                 .ffn_key = "n_inner",
                                 .kv_heads_key = "",
                                 .head_dim_key = "",
                                 .norm_eps_key = "layer_norm_epsilon",
                                 .activation_key = "activation_function"};

Result<HfDecoder> read_gpt2(const HfConfig& config, DecoderFamily family) {
  family.hidden_key = config.first_of({"n_embd", "hidden_size"});
  family.layers_key = config.first_of({"n_layer", "num_hidden_layers"});
  family.heads_key = config.first_of({"n_head", "num_attention_heads"});
  family.context_key = config.first_of({"n_positions", "max_position_embeddings"});
  INGOT_TRY(HfDecoder decoder, read_decoder(config, family));
  INGOT_TRY(const bool has_encoder, config.boolean_or("add_cross_attention", false));
  if (has_encoder) return config.unsupported("add_cross_attention", "encoders are not supported");
  INGOT_TRY(const bool is_scaled, config.boolean_or("scale_attn_weights", true));
  if (!is_scaled) decoder.attention.scale = 1;
  decoder.ffn.is_gated = false;
  decoder.spec.learned_positions = decoder.spec.context;
  return decoder;
}

LinearSource transposed(LinearSource linear) {
  for (TensorPart& part : linear.weight.parts)
    part.is_transposed = true;
  return linear;
}

ModelPlan gpt2_plan(const HfDecoder& decoder) {
  ModelPlan plan = unnamed_plan(decoder);
  WeightMap& weights = plan.weights;
  weights.aliases = {{"transformer.", ""}};  // as the first four stand on the hub
  weights.embedding = TensorSource::named("transformer.wte.weight");
  weights.position_embedding = TensorSource::named("transformer.wpe.weight");
  weights.final_norm = norm_named("transformer.ln_f", true);
  name_output("lm_head", false, plan);
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    const std::string name = fmt::format("transformer.h.{}.", i);
    LayerSources& layer = weights.layers[i];
    layer.mixer_norm = norm_named(name + "ln_1", true);
    layer.o = linear_named(name + "attn.c_proj", true);
    layer.ffn_norm = norm_named(name + "ln_2", true);
    layer.up = linear_named(name + "mlp.c_fc", true);
    layer.down = linear_named(name + "mlp.c_proj", true);
  }
  return plan;
}

LinearSource fused_qkv(size_t layer) {
  return linear_named(fmt::format("transformer.h.{}.attn.c_attn", layer), true);
}

}  // namespace

Result<ModelPlan> map_hf_gpt2(const HfConfig& config) {
  INGOT_TRY(const HfDecoder decoder, read_gpt2(config, kGpt2));
  INGOT_TRY(const bool fades, config.boolean_or("scale_attn_by_inverse_layer_idx", false));
  ModelPlan plan = gpt2_plan(decoder);
  for (size_t i = 0; i < plan.weights.layers.size(); ++i) {
    if (fades) attention_of(plan.spec.layers[i]).scale /= static_cast<float>(i + 1);
    LayerSources& layer = plan.weights.layers[i];
    split_qkv(transposed(fused_qkv(i)), decoder.attention, layer);
    layer.o = transposed(layer.o);
    layer.up = transposed(layer.up);
    layer.down = transposed(layer.down);
  }
  return plan;
}

Result<ModelPlan> map_hf_gpt_bigcode(const HfConfig& config) {
  DecoderFamily family = kGpt2;
  family.architecture = "gpt_bigcode";
  family.activation = "gelu_pytorch_tanh";
  INGOT_TRY(HfDecoder decoder, read_gpt2(config, family));
  INGOT_TRY(const bool shares_kv, config.boolean_or("multi_query", true));
  if (shares_kv) decoder.attention.kv_heads = 1;
  ModelPlan plan = gpt2_plan(decoder);
  for (size_t i = 0; i < plan.weights.layers.size(); ++i) {
    if (shares_kv) {
      split_qkv(fused_qkv(i), decoder.attention, plan.weights.layers[i]);
    } else {
      split_grouped_qkv(fused_qkv(i), decoder.attention, plan.weights.layers[i]);
    }
  }
  return plan;
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// BLOOM: ALiBi, a norm on the embeddings, q, k and v interleaved head by head.
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"

namespace ingot {
namespace {

constexpr DecoderFamily kBloom = {.architecture = "bloom",
                                  .vocab = 250880,
                                  .hidden = 64,
                                  .ffn = 0,
                                  .layers = 2,
                                  .heads = 8,
                                  .context = 2048,
                                  .norm = NormKind::kLayer,
                                  .activation = "gelu_pytorch_tanh",
                                  .ties_output = true,
                                  .bos = 1,
                                  .eos = 2,
                                  .ffn_key = "",
                                  .kv_heads_key = "",
                                  .head_dim_key = "",
                                  .context_key = "seq_length",
                                  .norm_eps_key = "layer_norm_epsilon",
                                  .activation_key = ""};

}  // namespace

Result<ModelPlan> map_hf_bloom(const HfConfig& config) {
  DecoderFamily family = kBloom;
  family.hidden_key = config.first_of({"n_embed", "hidden_size"});
  family.layers_key = config.first_of({"n_layer", "num_hidden_layers"});
  family.heads_key = config.first_of({"n_head", "num_attention_heads"});
  INGOT_TRY(HfDecoder decoder, read_decoder(config, family));
  INGOT_TRY(const bool skips_norm,
            config.boolean_or("apply_residual_connection_post_layernorm", false));
  if (skips_norm) {
    return config.unsupported("apply_residual_connection_post_layernorm",
                              "residuals taken after the norm are not supported");
  }
  decoder.attention.uses_alibi = true;
  decoder.ffn.is_gated = false;
  decoder.spec.has_embedding_norm = true;
  ModelPlan plan = unnamed_plan(decoder);
  WeightMap& weights = plan.weights;
  weights.aliases = {{"transformer.", ""}};  // as they stand on the hub
  weights.embedding = TensorSource::named("transformer.word_embeddings.weight");
  weights.embedding_norm = norm_named("transformer.word_embeddings_layernorm", true);
  weights.final_norm = norm_named("transformer.ln_f", true);
  name_output("lm_head", false, plan);
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    const std::string name = fmt::format("transformer.h.{}.", i);
    LayerSources& layer = weights.layers[i];
    layer.mixer_norm = norm_named(name + "input_layernorm", true);
    split_grouped_qkv(linear_named(name + "self_attention.query_key_value", true),
                      decoder.attention, layer);
    layer.o = linear_named(name + "self_attention.dense", true);
    layer.ffn_norm = norm_named(name + "post_attention_layernorm", true);
    layer.up = linear_named(name + "mlp.dense_h_to_4h", true);
    layer.down = linear_named(name + "mlp.dense_4h_to_h", true);
  }
  return plan;
}

}  // namespace ingot

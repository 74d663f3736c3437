// SPDX-License-Identifier: Apache-2.0
// Falcon in its three layouts: RW (ALiBi, heads interleaved, sequential branches), 7B (one kv head,
// one norm for both branches), 40B and later (groups of heads, a norm per branch).
#include <cmath>

#include "base/limits.h"
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kFalcon = {.architecture = "falcon",
                                   .vocab = 65024,
                                   .hidden = 4544,
                                   .ffn = 0,
                                   .layers = 32,
                                   .heads = 71,
                                   .context = 2048,
                                   .norm = NormKind::kLayer,
                                   .activation = "gelu",
                                   .ties_output = true,
                                   .bos = 11,
                                   .eos = 11,
                                   .ffn_key = "ffn_hidden_size",
                                   .kv_heads_key = "",
                                   .head_dim_key = "",
                                   .norm_eps_key = "layer_norm_epsilon",
                                   .activation_key = "activation"};

struct FalconLayout {
  bool is_new = false;
  bool is_multi_query = true;
  bool is_parallel = true;
  bool has_bias = false;
  int64_t norms = 1;  // before parallel branches
};

Result<FalconLayout> read_layout(const HfConfig& config) {
  FalconLayout layout;
  INGOT_TRY(layout.is_new, config.boolean_or("new_decoder_architecture", false));
  INGOT_TRY(layout.is_multi_query, config.boolean_or("multi_query", true));
  INGOT_TRY(layout.is_parallel, config.boolean_or("parallel_attn", true));
  INGOT_TRY(layout.has_bias, config.boolean_or("bias", false));
  INGOT_TRY(layout.norms,
            config.integer_or("num_ln_in_parallel_attn", layout.is_new ? 2 : 1, {1, 2}));
  if (layout.is_new && !layout.is_parallel)
    return config.error("parallel_attn", "must be true with new_decoder_architecture");
  if (!layout.is_new && layout.is_parallel && layout.norms == 2)
    return config.error("num_ln_in_parallel_attn", "2 needs new_decoder_architecture");
  return layout;
}

Status read_kv_heads(const HfConfig& config, const FalconLayout& layout, AttentionSpec& attention) {
  if (!layout.is_new) {
    attention.kv_heads = layout.is_multi_query ? 1 : attention.heads;
    return Status::ok();
  }
  INGOT_TRY(attention.kv_heads,
            config.integer_or("num_kv_heads", attention.heads, {1, limits::kHeads}));
  if (attention.heads % attention.kv_heads == 0) return Status::ok();
  return config.error("num_kv_heads", fmt::format("{} does not divide the {} attention heads",
                                                  attention.kv_heads, attention.heads));
}

void name_layer(const std::string& name, const FalconLayout& layout, const AttentionSpec& attention,
                LayerSpec& spec, LayerSources& layer) {
  const LinearSource fused = linear_named(name + "self_attention.query_key_value", layout.has_bias);
  if (layout.is_new || !layout.is_multi_query) {
    split_grouped_qkv(fused, attention, layer);
  } else {
    split_qkv(fused, attention, layer);
  }
  layer.o = linear_named(name + "self_attention.dense", layout.has_bias);
  layer.up = linear_named(name + "mlp.dense_h_to_4h", layout.has_bias);
  layer.down = linear_named(name + "mlp.dense_4h_to_h", layout.has_bias);

  if (layout.is_parallel) spec.form = BlockForm::kParallel;
  if (layout.is_parallel && layout.norms == 2) {
    layer.mixer_norm = norm_named(name + "ln_attn", true);
    layer.ffn_norm = norm_named(name + "ln_mlp", true);
    return;
  }
  layer.mixer_norm = norm_named(name + "input_layernorm", true);
  spec.has_ffn_norm = !layout.is_parallel;
  if (spec.has_ffn_norm) layer.ffn_norm = norm_named(name + "post_attention_layernorm", true);
}

}  // namespace

Result<ModelPlan> map_hf_falcon(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kFalcon));
  INGOT_TRY(const FalconLayout layout, read_layout(config));
  AttentionSpec& attention = decoder.attention;
  INGOT_TRY(read_kv_heads(config, layout, attention));
  INGOT_TRY(attention.uses_alibi, config.boolean_or("alibi", false));
  if (attention.uses_alibi) {
    attention.alibi_scale = attention.scale;  // biases join the scores before these are scaled
  } else {
    INGOT_TRY(add_rope(config, {}, decoder));
  }
  decoder.ffn.is_gated = false;

  ModelPlan plan = unnamed_plan(decoder);
  WeightMap& weights = plan.weights;
  weights.aliases = {{"transformer.", ""}};
  weights.embedding = TensorSource::named("transformer.word_embeddings.weight");
  weights.final_norm = norm_named("transformer.ln_f", true);
  name_output("lm_head", false, plan);
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    name_layer(fmt::format("transformer.h.{}.", i), layout, attention, plan.spec.layers[i],
               weights.layers[i]);
  }
  return plan;
}

}  // namespace ingot

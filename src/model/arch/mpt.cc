// SPDX-License-Identifier: Apache-2.0
// MPT: no biases at all, ALiBi instead of positions. Its settings for attention are nested.
#include "base/limits.h"
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"

namespace ingot {
namespace {

constexpr DecoderFamily kMpt = {.architecture = "mpt",
                                .vocab = 50368,
                                .hidden = 2048,
                                .ffn = 0,
                                .layers = 24,
                                .heads = 16,
                                .context = 2048,
                                .norm = NormKind::kLayer,
                                .activation = "gelu",
                                .ties_output = true,
                                .hidden_key = "d_model",
                                .ffn_key = "",
                                .layers_key = "n_layers",
                                .heads_key = "n_heads",
                                .kv_heads_key = "",
                                .head_dim_key = "",
                                .context_key = "max_seq_len",
                                .norm_eps_key = "layer_norm_epsilon",
                                .activation_key = ""};

// What the first authors' code could do and the reference cannot.
Status refuse_unknown(const HfConfig& config) {
  INGOT_TRY(const bool lacks_bias, config.boolean_or("no_bias", true));
  if (!lacks_bias) return config.unsupported("no_bias", "biases are not supported");
  if (config.has("logit_scale")) return config.unsupported("logit_scale", "not supported");
  const std::optional<HfConfig> attention = config.object("attn_config");
  if (!attention) return Status::ok();
  INGOT_TRY(const bool has_alibi, attention->boolean_or("alibi", true));
  if (!has_alibi) return attention->unsupported("alibi", "learned positions are not supported");
  INGOT_TRY(const bool has_qk_norm, attention->boolean_or("qk_ln", false));
  if (has_qk_norm) return attention->unsupported("qk_ln", "not supported");
  INGOT_TRY(const std::string type, attention->string_or("attn_type", "multihead_attention"));
  if (type != "multihead_attention")
    return attention->unsupported("attn_type", fmt::format("unknown type '{}'", type));
  return Status::ok();
}

}  // namespace

Result<ModelPlan> map_hf_mpt(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kMpt));
  INGOT_TRY(refuse_unknown(config));
  AttentionSpec& attention = decoder.attention;
  attention.uses_alibi = true;
  if (const std::optional<HfConfig> settings = config.object("attn_config")) {
    INGOT_TRY(attention.alibi_max, read_real(*settings, "alibi_bias_max", 8, {1, 1024}));
    INGOT_TRY(attention.clip_qkv, read_real(*settings, "clip_qkv", 0));
    INGOT_TRY(attention.scale,
              read_real(*settings, "softmax_scale", static_cast<double>(attention.scale)));
  }
  decoder.ffn.is_gated = false;
  ModelPlan plan = unnamed_plan(decoder);
  WeightMap& weights = plan.weights;
  weights.aliases = {{"transformer.", ""}};
  weights.embedding = TensorSource::named("transformer.wte.weight");
  weights.final_norm = norm_named("transformer.norm_f", false);
  name_output("lm_head", false, plan);
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    const std::string name = fmt::format("transformer.blocks.{}.", i);
    LayerSources& layer = weights.layers[i];
    layer.mixer_norm = norm_named(name + "norm_1", false);
    split_qkv(linear_named(name + "attn.Wqkv", false), attention, layer);
    layer.o = linear_named(name + "attn.out_proj", false);
    layer.ffn_norm = norm_named(name + "norm_2", false);
    layer.up = linear_named(name + "ffn.up_proj", false);
    layer.down = linear_named(name + "ffn.down_proj", false);
  }
  return plan;
}

}  // namespace ingot

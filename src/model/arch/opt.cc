// SPDX-License-Identifier: Apache-2.0
// OPT: learned positions that begin at row 2. The 350m norms after its branches and has embeddings
// smaller than its layers.
#include "base/limits.h"
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"

namespace ingot {
namespace {

constexpr int64_t kPositionOffset = 2;

constexpr DecoderFamily kOpt = {.architecture = "opt",
                                .vocab = 50272,
                                .hidden = 768,
                                .ffn = 3072,
                                .layers = 12,
                                .heads = 12,
                                .context = 2048,
                                .norm = NormKind::kLayer,
                                .activation = "relu",
                                .ties_output = true,
                                .bos = 2,
                                .eos = 2,
                                .ffn_key = "ffn_dim",
                                .kv_heads_key = "",
                                .head_dim_key = "",
                                .norm_eps_key = "",
                                .activation_key = "activation_function"};

void name_layers(bool has_bias, bool has_affine, ModelPlan& plan) {
  for (size_t i = 0; i < plan.weights.layers.size(); ++i) {
    const std::string name = fmt::format("model.decoder.layers.{}.", i);
    LayerSources& layer = plan.weights.layers[i];
    layer.q = linear_named(name + "self_attn.q_proj", has_bias);
    layer.k = linear_named(name + "self_attn.k_proj", has_bias);
    layer.v = linear_named(name + "self_attn.v_proj", has_bias);
    layer.o = linear_named(name + "self_attn.out_proj", has_bias);
    layer.up = linear_named(name + "fc1", has_bias);
    layer.down = linear_named(name + "fc2", has_bias);
    if (!has_affine) continue;
    layer.mixer_norm = norm_named(name + "self_attn_layer_norm", true);
    layer.ffn_norm = norm_named(name + "final_layer_norm", true);
  }
}

}  // namespace

Result<ModelPlan> map_hf_opt(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kOpt));
  ModelSpec& spec = decoder.spec;
  INGOT_TRY(const bool norms_before, config.boolean_or("do_layer_norm_before", true));
  INGOT_TRY(const bool lacks_final_norm, config.boolean_or("_remove_final_layer_norm", false));
  INGOT_TRY(const bool has_bias, config.boolean_or("enable_bias", true));
  INGOT_TRY(spec.norm.has_affine, config.boolean_or("layer_norm_elementwise_affine", true));
  INGOT_TRY(spec.embedding_dim,
            config.integer_or("word_embed_proj_dim", spec.hidden, {1, limits::kHidden}));
  if (spec.embedding_dim == spec.hidden) spec.embedding_dim = 0;
  spec.has_final_norm = norms_before && !lacks_final_norm;
  spec.learned_positions = spec.context + kPositionOffset;
  spec.position_offset = kPositionOffset;
  decoder.ffn.is_gated = false;

  ModelPlan plan = unnamed_plan(decoder);
  WeightMap& weights = plan.weights;
  weights.aliases = {{"model.decoder.", "decoder."}};
  weights.embedding = TensorSource::named("model.decoder.embed_tokens.weight");
  weights.position_embedding = TensorSource::named("model.decoder.embed_positions.weight");
  if (spec.embedding_dim > 0) {
    weights.embedding_in = linear_named("model.decoder.project_in", false);
    weights.embedding_out = linear_named("model.decoder.project_out", false);
  }
  if (spec.has_final_norm && spec.norm.has_affine)
    weights.final_norm = norm_named("model.decoder.final_layer_norm", true);
  name_output("lm_head", false, plan);
  name_layers(has_bias, spec.norm.has_affine, plan);
  if (!norms_before) {
    for (LayerSpec& layer : plan.spec.layers)
      layer.form = BlockForm::kPostResidual;
  }
  return plan;
}

}  // namespace ingot

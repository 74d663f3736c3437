// SPDX-License-Identifier: Apache-2.0
// StableLM 3B and 2: Llama with layer norms, a quarter of each head turned; the 12B has parallel
// branches and a norm for every single head.
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kStableLm = {.architecture = "stablelm",
                                     .vocab = 50304,
                                     .hidden = 2560,
                                     .ffn = 6912,
                                     .layers = 32,
                                     .heads = 32,
                                     .kv_heads = 32,
                                     .context = 4096,
                                     .norm = NormKind::kLayer,
                                     .bos = 0,
                                     .eos = 0,
                                     .head_dim_key = "",
                                     .norm_eps_key = "layer_norm_eps"};

// One module per head; stacked they are a weight [heads, head_dim].
NormSource norm_per_head(const std::string& name, int64_t heads) {
  NormSource norm;
  for (int64_t head = 0; head < heads; ++head)
    norm.weight.parts.push_back({fmt::format("{}.norms.{}.weight", name, head), {}, false});
  return norm;
}

}  // namespace

Result<ModelPlan> map_hf_stablelm(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kStableLm));
  INGOT_TRY(add_rope(config, {.partial = 0.25}, decoder));
  INGOT_TRY(const bool qkv_bias, config.boolean_or("use_qkv_bias", false));
  INGOT_TRY(const bool has_qk_norm, config.boolean_or("qk_layernorm", false));
  INGOT_TRY(const bool is_parallel, config.boolean_or("use_parallel_residual", false));
  AttentionSpec& attention = decoder.attention;
  if (has_qk_norm) {
    attention.qk_norm = QkNorm::kPerHeadWeights;
    attention.qk_norm_spec = decoder.spec.norm;
  }
  ModelPlan plan = llama_plan(decoder, {.qkv = qkv_bias, .norm = true});
  for (size_t i = 0; i < plan.weights.layers.size(); ++i) {
    LayerSources& layer = plan.weights.layers[i];
    if (has_qk_norm) {
      const std::string name = fmt::format("model.layers.{}.self_attn.", i);
      layer.q_norm = norm_per_head(name + "q_layernorm", attention.heads);
      layer.k_norm = norm_per_head(name + "k_layernorm", attention.kv_heads);
    }
    if (is_parallel) {
      plan.spec.layers[i].form = BlockForm::kParallel;
      plan.spec.layers[i].has_ffn_norm = false;
      layer.ffn_norm = {};
    }
  }
  return plan;
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// GPT-Neo (and TinyStories): GPT-2 with unscaled scores and a window in its "local" layers.
#include "base/limits.h"
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"

namespace ingot {
namespace {

constexpr DecoderFamily kGptNeo = {.architecture = "gpt_neo",
                                   .vocab = 50257,
                                   .hidden = 2048,
                                   .ffn = 0,
                                   .layers = 24,
                                   .heads = 16,
                                   .context = 2048,
                                   .norm = NormKind::kLayer,
                                   .activation = "gelu_new",
                                   .ties_output = true,
                                   .bos = 50256,
                                   .eos = 50256,
                                   .layers_key = "num_layers",
                                   .heads_key = "num_heads",
                                   .kv_heads_key = "",
                                   .head_dim_key = "",
                                   .norm_eps_key = "layer_norm_epsilon",
                                   .activation_key = "activation_function"};

// `attention_layers` names each layer; without it global and local ones take turns.
Result<std::vector<bool>> read_local_layers(const HfConfig& config, int64_t layers) {
  std::vector<bool> is_local;
  if (!config.has("attention_layers")) {
    if (config.has("attention_types"))
      return config.unsupported("attention_types", "needs attention_layers beside it");
    for (int64_t layer = 0; layer < layers; ++layer)
      is_local.push_back(layer % 2 == 1);
    return is_local;
  }
  INGOT_TRY(const std::vector<std::string> types, config.strings("attention_layers"));
  if (static_cast<int64_t>(types.size()) != layers) {
    return config.error("attention_layers",
                        fmt::format("has {} entries for {} layers", types.size(), layers));
  }
  for (const std::string& type : types) {
    if (type != "global" && type != "local")
      return config.unsupported("attention_layers", fmt::format("unknown layer type '{}'", type));
    is_local.push_back(type == "local");
  }
  return is_local;
}

}  // namespace

Result<ModelPlan> map_hf_gpt_neo(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kGptNeo));
  INGOT_TRY(const int64_t window, config.integer_or("window_size", 256, {1, limits::kContext}));
  INGOT_TRY(const std::vector<bool> is_local, read_local_layers(config, decoder.layers));
  decoder.attention.scale = 1;
  decoder.ffn.is_gated = false;
  decoder.spec.learned_positions = decoder.spec.context;
  ModelPlan plan = unnamed_plan(decoder);
  set_windows(is_local, window, plan);
  WeightMap& weights = plan.weights;
  weights.aliases = {{"transformer.", ""}};
  weights.embedding = TensorSource::named("transformer.wte.weight");
  weights.position_embedding = TensorSource::named("transformer.wpe.weight");
  weights.final_norm = norm_named("transformer.ln_f", true);
  name_output("lm_head", false, plan);
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    const std::string name = fmt::format("transformer.h.{}.", i);
    LayerSources& layer = weights.layers[i];
    layer.mixer_norm = norm_named(name + "ln_1", true);
    layer.q = linear_named(name + "attn.attention.q_proj", false);
    layer.k = linear_named(name + "attn.attention.k_proj", false);
    layer.v = linear_named(name + "attn.attention.v_proj", false);
    layer.o = linear_named(name + "attn.attention.out_proj", true);
    layer.ffn_norm = norm_named(name + "ln_2", true);
    layer.up = linear_named(name + "mlp.c_fc", true);
    layer.down = linear_named(name + "mlp.c_proj", true);
  }
  return plan;
}

}  // namespace ingot

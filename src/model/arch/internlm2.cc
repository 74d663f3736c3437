// SPDX-License-Identifier: Apache-2.0
// InternLM 2 and 2.5: Llama under other names, with q, k and v fused group by group.
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kInternLm2 = {.architecture = "internlm2",
                                      .vocab = 103168,
                                      .hidden = 4096,
                                      .ffn = 11008,
                                      .layers = 32,
                                      .heads = 32,
                                      .context = 2048,
                                      .norm_eps = 1e-6,
                                      .bos = 1,
                                      .eos = 2,
                                      .head_dim_key = ""};

}  // namespace

Result<ModelPlan> map_hf_internlm2(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kInternLm2));
  INGOT_TRY(add_rope(config, {}, decoder));
  INGOT_TRY(const bool has_bias, config.boolean_or("bias", true));
  ModelPlan plan = unnamed_plan(decoder);
  WeightMap& weights = plan.weights;
  weights.embedding = TensorSource::named("model.tok_embeddings.weight");
  weights.final_norm = norm_named("model.norm", false);
  name_output("output", false, plan);
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    const std::string name = fmt::format("model.layers.{}.", i);
    LayerSources& layer = weights.layers[i];
    layer.mixer_norm = norm_named(name + "attention_norm", false);
    split_grouped_qkv(linear_named(name + "attention.wqkv", has_bias), decoder.attention, layer);
    layer.o = linear_named(name + "attention.wo", has_bias);
    layer.ffn_norm = norm_named(name + "ffn_norm", false);
    layer.gate = linear_named(name + "feed_forward.w1", false);
    layer.up = linear_named(name + "feed_forward.w3", false);
    layer.down = linear_named(name + "feed_forward.w2", false);
  }
  return plan;
}

}  // namespace ingot

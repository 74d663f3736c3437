// SPDX-License-Identifier: Apache-2.0
// StarCoder 2: layer norms, biases, an ungated FFN.
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kStarCoder2 = {.architecture = "starcoder2",
                                       .vocab = 49152,
                                       .hidden = 3072,
                                       .ffn = 12288,
                                       .layers = 30,
                                       .heads = 24,
                                       .kv_heads = 2,
                                       .context = 4096,
                                       .norm = NormKind::kLayer,
                                       .activation = "gelu_pytorch_tanh",
                                       .ties_output = true,
                                       .bos = 50256,
                                       .eos = 50256,
                                       .norm_eps_key = "norm_epsilon"};

}  // namespace

Result<ModelPlan> map_hf_starcoder2(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kStarCoder2));
  INGOT_TRY(add_rope(config, {}, decoder));
  INGOT_TRY(decoder.attention.window, read_window(config, 0));
  INGOT_TRY(const bool has_bias, config.boolean_or("use_bias", true));
  decoder.ffn.is_gated = false;
  ModelPlan plan = llama_plan(decoder, {.qkv = has_bias, .o = has_bias, .norm = true});
  for (size_t i = 0; i < plan.weights.layers.size(); ++i) {
    const std::string name = fmt::format("model.layers.{}.mlp.", i);
    plan.weights.layers[i].up = linear_named(name + "c_fc", has_bias);
    plan.weights.layers[i].down = linear_named(name + "c_proj", has_bias);
  }
  return plan;
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// Nemotron and Minitron: layer norms stored as w - 1, half of each head turned, relu squared.
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kNemotron = {.architecture = "nemotron",
                                     .vocab = 256000,
                                     .hidden = 6144,
                                     .ffn = 24576,
                                     .layers = 32,
                                     .heads = 48,
                                     .context = 4096,
                                     .norm = NormKind::kLayer,
                                     .activation = "relu2",
                                     .bos = 2,
                                     .eos = 3,
                                     .norm_eps_key = "norm_eps"};

}  // namespace

Result<ModelPlan> map_hf_nemotron(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kNemotron));
  INGOT_TRY(add_rope(config, {.partial = 0.5}, decoder));
  INGOT_TRY(const bool attention_bias, config.boolean_or("attention_bias", false));
  INGOT_TRY(const bool ffn_bias, config.boolean_or("mlp_bias", false));
  decoder.spec.norm.adds_one = true;
  decoder.ffn.is_gated = false;
  return llama_plan(decoder,
                    {.qkv = attention_bias, .o = attention_bias, .ffn = ffn_bias, .norm = true});
}

}  // namespace ingot

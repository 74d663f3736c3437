// SPDX-License-Identifier: Apache-2.0
// Granite 3: Llama with a multiplier on embeddings, scores, branches and logits.
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kGranite = {.architecture = "granite",
                                    .vocab = 32000,
                                    .hidden = 4096,
                                    .ffn = 11008,
                                    .layers = 32,
                                    .heads = 32,
                                    .context = 2048,
                                    .norm_eps = 1e-6,
                                    .bos = 1,
                                    .eos = 2};

}  // namespace

Result<ModelPlan> map_hf_granite(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kGranite));
  INGOT_TRY(add_rope(config, {}, decoder));
  INGOT_TRY(decoder.spec.embedding_scale, read_real(config, "embedding_multiplier", 1));
  INGOT_TRY(decoder.spec.residual_scale, read_real(config, "residual_multiplier", 1));
  INGOT_TRY(decoder.attention.scale, read_real(config, "attention_multiplier", 1));
  INGOT_TRY(const float divisor, read_real(config, "logits_scaling", 1));
  decoder.spec.logit_scale = 1 / divisor;
  INGOT_TRY(const bool attention_bias, config.boolean_or("attention_bias", false));
  INGOT_TRY(const bool ffn_bias, config.boolean_or("mlp_bias", false));
  return llama_plan(decoder, {.qkv = attention_bias, .o = attention_bias, .ffn = ffn_bias});
}

}  // namespace ingot

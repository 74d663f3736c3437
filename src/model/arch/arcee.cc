// SPDX-License-Identifier: Apache-2.0
// Arcee (AFM): Llama with an ungated FFN of squared relu.
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kArcee = {.architecture = "arcee",
                                  .vocab = 32000,
                                  .hidden = 2560,
                                  .ffn = 18432,
                                  .layers = 32,
                                  .heads = 32,
                                  .context = 4096,
                                  .activation = "relu2",
                                  .bos = 128000,
                                  .eos = 128001};

}  // namespace

Result<ModelPlan> map_hf_arcee(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kArcee));
  INGOT_TRY(add_rope(config, {}, decoder));
  INGOT_TRY(const bool attention_bias, config.boolean_or("attention_bias", false));
  INGOT_TRY(const bool ffn_bias, config.boolean_or("mlp_bias", false));
  decoder.ffn.is_gated = false;
  return llama_plan(decoder, {.qkv = attention_bias, .o = attention_bias, .ffn = ffn_bias});
}

}  // namespace ingot

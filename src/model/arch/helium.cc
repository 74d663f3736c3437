// SPDX-License-Identifier: Apache-2.0
// Helium: Llama with neighbouring dimensions turned.
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kHelium = {.architecture = "helium",
                                   .vocab = 48000,
                                   .hidden = 2560,
                                   .ffn = 7040,
                                   .layers = 24,
                                   .heads = 20,
                                   .kv_heads = 20,
                                   .head_dim = 128,
                                   .context = 4096,
                                   .norm_eps = 1e-8,
                                   .bos = 1,
                                   .eos = 2};

}  // namespace

Result<ModelPlan> map_hf_helium(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kHelium));
  INGOT_TRY(add_rope(config, {.pairing = RopePairing::kNeighbours, .theta = 1e5}, decoder));
  INGOT_TRY(const bool qkv_bias, config.boolean_or("attention_bias", false));
  INGOT_TRY(const bool ffn_bias, config.boolean_or("mlp_bias", false));
  return llama_plan(decoder, {.qkv = qkv_bias, .ffn = ffn_bias});
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// Seed-OSS: Llama with biases on q, k and v.
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kSeedOss = {.architecture = "seed_oss",
                                    .vocab = 155136,
                                    .hidden = 4096,
                                    .ffn = 27648,
                                    .layers = 64,
                                    .heads = 80,
                                    .kv_heads = 8,
                                    .head_dim = 128,
                                    .context = 524288,
                                    .norm_eps = 1e-6,
                                    .bos = 0,
                                    .eos = 2};

}  // namespace

Result<ModelPlan> map_hf_seed_oss(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kSeedOss));
  INGOT_TRY(add_rope(config, {}, decoder));
  INGOT_TRY(const bool qkv_bias, config.boolean_or("attention_bias", true));
  INGOT_TRY(const bool o_bias, config.boolean_or("attention_out_bias", false));
  INGOT_TRY(const bool ffn_bias, config.boolean_or("mlp_bias", false));
  return llama_plan(decoder, {.qkv = qkv_bias, .o = o_bias, .ffn = ffn_bias});
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// ERNIE 4.5 (dense): Llama with neighbouring dimensions turned.
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kErnie = {.architecture = "ernie4_5",
                                  .vocab = 103424,
                                  .hidden = 1024,
                                  .ffn = 3072,
                                  .layers = 18,
                                  .heads = 16,
                                  .kv_heads = 2,
                                  .head_dim = 128,
                                  .context = 131072,
                                  .ties_output = true,
                                  .bos = 1,
                                  .eos = 2};

}  // namespace

Result<ModelPlan> map_hf_ernie4_5(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kErnie));
  INGOT_TRY(add_rope(config, {.pairing = RopePairing::kNeighbours, .theta = 5e5}, decoder));
  INGOT_TRY(const bool has_bias, config.boolean_or("use_bias", false));
  return llama_plan(decoder, {.qkv = has_bias, .o = has_bias, .ffn = has_bias});
}

}  // namespace ingot

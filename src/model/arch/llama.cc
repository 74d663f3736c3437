// SPDX-License-Identifier: Apache-2.0
// Llama, and Mistral and Ministral, which add a sliding window.
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kLlama = {.architecture = "llama",
                                  .vocab = 32000,
                                  .hidden = 4096,
                                  .ffn = 11008,
                                  .layers = 32,
                                  .heads = 32,
                                  .context = 2048,
                                  .norm_eps = 1e-6,
                                  .bos = 1,
                                  .eos = 2};

constexpr DecoderFamily kMistral = {.architecture = "mistral",
                                    .vocab = 32000,
                                    .hidden = 4096,
                                    .ffn = 14336,
                                    .layers = 32,
                                    .heads = 32,
                                    .kv_heads = 8,
                                    .context = 131072,
                                    .norm_eps = 1e-6,
                                    .bos = 1,
                                    .eos = 2};

}  // namespace

Result<ModelPlan> map_hf_llama(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kLlama));
  INGOT_TRY(add_rope(config, {}, decoder));
  INGOT_TRY(const bool attention_bias, config.boolean_or("attention_bias", false));
  INGOT_TRY(const bool ffn_bias, config.boolean_or("mlp_bias", false));
  return llama_plan(decoder, {.qkv = attention_bias, .o = attention_bias, .ffn = ffn_bias});
}

Result<ModelPlan> map_hf_mistral(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kMistral));
  INGOT_TRY(add_rope(config, {}, decoder));
  INGOT_TRY(decoder.attention.window, read_window(config, 4096));
  return llama_plan(decoder, {});
}

Result<ModelPlan> map_hf_ministral(const HfConfig& config) {
  DecoderFamily family = kMistral;
  family.architecture = "ministral";
  INGOT_TRY(HfDecoder decoder, read_decoder(config, family));
  INGOT_TRY(add_rope(config, {}, decoder));
  INGOT_TRY(const int64_t window, read_window(config, 4096));
  INGOT_TRY(const std::vector<bool> slides,
            read_sliding_layers(config, decoder.layers, [](int64_t) { return true; }));
  ModelPlan plan = llama_plan(decoder, {});
  set_windows(slides, window, plan);
  return plan;
}

}  // namespace ingot

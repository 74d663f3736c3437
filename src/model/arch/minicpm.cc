// SPDX-License-Identifier: Apache-2.0
// MiniCPM 1, 2 and 4: Llama with scaled embeddings, branches and logits.
#include <cmath>

#include "base/limits.h"
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kMiniCpm = {.architecture = "minicpm",
                                    .vocab = 32000,
                                    .hidden = 4096,
                                    .ffn = 11008,
                                    .layers = 32,
                                    .heads = 32,
                                    .context = 2048,
                                    .norm_eps = 1e-6,
                                    .ties_output = true,
                                    .bos = 1,
                                    .eos = 2};

}  // namespace

Result<ModelPlan> map_hf_minicpm(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kMiniCpm));
  INGOT_TRY(add_rope(config, {}, decoder));
  ModelSpec& spec = decoder.spec;
  INGOT_TRY(spec.embedding_scale, read_real(config, "scale_emb", 1));
  INGOT_TRY(const float depth, read_real(config, "scale_depth", 1));
  spec.residual_scale = depth / std::sqrt(static_cast<float>(decoder.layers));
  INGOT_TRY(const int64_t base, config.integer_or("dim_model_base", 1, {1, limits::kHidden}));
  spec.logit_scale = static_cast<float>(base) / static_cast<float>(spec.hidden);
  INGOT_TRY(const bool has_bias, config.boolean_or("attention_bias", false));
  return llama_plan(decoder, {.qkv = has_bias, .o = has_bias});
}

}  // namespace ingot

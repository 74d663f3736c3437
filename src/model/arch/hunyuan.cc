// SPDX-License-Identifier: Apache-2.0
// Hunyuan (dense): Llama with norms on the turned queries and keys. Its "dynamic" rope with an
// alpha is a plain rope of a larger base.
#include <cmath>

#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kHunyuan = {.architecture = "hunyuan_v1_dense",
                                    .vocab = 290943,
                                    .hidden = 4096,
                                    .ffn = 11008,
                                    .layers = 32,
                                    .heads = 32,
                                    .context = 2048,
                                    .bos = 1,
                                    .eos = 2};

Status stretch_base(const HfConfig& config, RopeSpec& rope) {
  if (rope.scaling != RopeScaling::kDynamic) return Status::ok();
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    const std::optional<HfConfig> scaling = config.object(key);
    if (!scaling || !scaling->has("alpha")) continue;
    INGOT_TRY(const float alpha, read_real(*scaling, "alpha", 1, {1e-3, 1e9}));
    const auto dim = static_cast<double>(rope.rotary_dim);
    rope.theta *= std::pow(static_cast<double>(alpha), dim / (dim - 2));
    rope.scaling = RopeScaling::kNone;
    rope.factor = 1;
    rope.original_context = 0;
    break;
  }
  return Status::ok();
}

}  // namespace

Result<ModelPlan> map_hf_hunyuan_v1_dense(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kHunyuan));
  INGOT_TRY(add_rope(config, {}, decoder));
  INGOT_TRY(stretch_base(config, decoder.spec.ropes[0]));
  INGOT_TRY(const bool has_bias, config.boolean_or("attention_bias", false));
  decoder.attention.qk_norm = QkNorm::kPerHead;
  decoder.attention.qk_norm_spec = decoder.spec.norm;
  decoder.attention.norm_after_rope = true;
  ModelPlan plan = llama_plan(decoder, {.qkv = has_bias, .o = has_bias});
  name_qk_norms("query_layernorm", "key_layernorm", false, plan);
  return plan;
}

}  // namespace ingot

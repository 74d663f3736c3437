// SPDX-License-Identifier: Apache-2.0
// Qwen 2 and 2.5 (biases on q, k and v), Qwen 3 (norms on q and k instead).
#include "base/limits.h"
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kQwen2 = {.architecture = "qwen2",
                                  .vocab = 151936,
                                  .hidden = 4096,
                                  .ffn = 22016,
                                  .layers = 32,
                                  .heads = 32,
                                  .kv_heads = 32,
                                  .context = 32768,
                                  .norm_eps = 1e-6};

// A window only where `use_sliding_window` says so, and then from `max_window_layers` on.
Status add_windows(const HfConfig& config, ModelPlan& plan) {
  INGOT_TRY(const bool uses_window, config.boolean_or("use_sliding_window", false));
  INGOT_TRY(int64_t window, read_window(config, 4096));
  if (!uses_window) window = 0;
  INGOT_TRY(const int64_t first, config.integer_or("max_window_layers", 28, {0, limits::kLayers}));
  INGOT_TRY(const std::vector<bool> slides,
            read_sliding_layers(config, static_cast<int64_t>(plan.spec.layers.size()),
                                [&](int64_t layer) { return window > 0 && layer >= first; }));
  set_windows(slides, window, plan);
  return Status::ok();
}

}  // namespace

Result<ModelPlan> map_hf_qwen2(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kQwen2));
  INGOT_TRY(add_rope(config, {}, decoder));
  ModelPlan plan = llama_plan(decoder, {.qkv = true});
  INGOT_TRY(add_windows(config, plan));
  return plan;
}

Result<ModelPlan> map_hf_qwen3(const HfConfig& config) {
  DecoderFamily family = kQwen2;
  family.architecture = "qwen3";
  family.head_dim = 128;
  INGOT_TRY(HfDecoder decoder, read_decoder(config, family));
  INGOT_TRY(add_rope(config, {}, decoder));
  INGOT_TRY(const bool attention_bias, config.boolean_or("attention_bias", false));
  decoder.attention.qk_norm = QkNorm::kPerHead;
  decoder.attention.qk_norm_spec = decoder.spec.norm;
  ModelPlan plan = llama_plan(decoder, {.qkv = attention_bias, .o = attention_bias});
  name_qk_norms("q_norm", "k_norm", false, plan);
  INGOT_TRY(add_windows(config, plan));
  return plan;
}

}  // namespace ingot

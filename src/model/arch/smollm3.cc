// SPDX-License-Identifier: Apache-2.0
// SmolLM3: Llama where every fourth layer knows nothing of positions.
#include "base/limits.h"
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kSmolLm3 = {.architecture = "smollm3",
                                    .vocab = 128256,
                                    .hidden = 2048,
                                    .ffn = 11008,
                                    .layers = 36,
                                    .heads = 16,
                                    .kv_heads = 4,
                                    .context = 32768,
                                    .norm_eps = 1e-6,
                                    .ties_output = true,
                                    .bos = 128000,
                                    .eos = 128001};

// `no_rope_layers` holds a 1 for the layers that do turn.
Result<std::vector<bool>> read_unturned(const HfConfig& config, int64_t layers) {
  INGOT_TRY(const int64_t interval,
            config.integer_or("no_rope_layer_interval", 4, {1, limits::kLayers}));
  std::vector<bool> unturned;
  for (int64_t layer = 0; layer < layers; ++layer)
    unturned.push_back((layer + 1) % interval == 0);
  if (!config.has("no_rope_layers")) return unturned;
  INGOT_TRY(const std::vector<int64_t> turned, config.integers("no_rope_layers", {0, 1}));
  if (static_cast<int64_t>(turned.size()) != layers) {
    return config.error("no_rope_layers",
                        fmt::format("has {} entries for {} layers", turned.size(), layers));
  }
  for (size_t i = 0; i < turned.size(); ++i)
    unturned[i] = turned[i] == 0;
  return unturned;
}

}  // namespace

Result<ModelPlan> map_hf_smollm3(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kSmolLm3));
  INGOT_TRY(add_rope(config, {.theta = 2e6}, decoder));
  INGOT_TRY(const std::vector<bool> unturned, read_unturned(config, decoder.layers));
  INGOT_TRY(const bool uses_window, config.boolean_or("use_sliding_window", false));
  INGOT_TRY(const int64_t window, read_window(config, 0));
  INGOT_TRY(const std::vector<bool> slides,
            read_sliding_layers(config, decoder.layers, [&](int64_t layer) {
              return unturned[static_cast<size_t>(layer)];
            }));
  INGOT_TRY(const bool attention_bias, config.boolean_or("attention_bias", false));
  INGOT_TRY(const bool ffn_bias, config.boolean_or("mlp_bias", false));
  ModelPlan plan =
      llama_plan(decoder, {.qkv = attention_bias, .o = attention_bias, .ffn = ffn_bias});
  set_ropes(unturned, -1, plan);
  if (uses_window) set_windows(slides, window, plan);
  return plan;
}

}  // namespace ingot

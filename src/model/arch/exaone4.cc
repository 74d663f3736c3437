// SPDX-License-Identifier: Apache-2.0
// EXAONE 4: norms after the branches and on queries and keys. The large one mixes sliding layers
// with full ones, and the full ones then know nothing of positions.
#include "model/arch/hf_arch.h"
#include "model/hf_names.h"
#include "model/hf_rope.h"

namespace ingot {
namespace {

constexpr DecoderFamily kExaone4 = {.architecture = "exaone4",
                                    .vocab = 102400,
                                    .hidden = 4096,
                                    .ffn = 16384,
                                    .layers = 32,
                                    .heads = 32,
                                    .kv_heads = 32,
                                    .context = 2048,
                                    .bos = 0,
                                    .eos = 2};

// A number, or a word like "LLLG" that repeats: L slides, G is full.
Result<std::vector<bool>> read_slides(const HfConfig& config, int64_t layers) {
  if (config.string("sliding_window_pattern").is_ok()) {
    INGOT_TRY(const std::string word, config.string("sliding_window_pattern"));
    if (word.empty() || word.find_first_not_of("LG") != std::string::npos)
      return config.error("sliding_window_pattern", "must be a number or a word of L and G");
    return read_sliding_layers(config, layers, [&](int64_t layer) {
      return word[static_cast<size_t>(layer) % word.size()] == 'L';
    });
  }
  INGOT_TRY(const int64_t pattern, read_window_pattern(config, 4));
  return read_sliding_layers(config, layers,
                             [&](int64_t layer) { return (layer + 1) % pattern != 0; });
}

}  // namespace

Result<ModelPlan> map_hf_exaone4(const HfConfig& config) {
  INGOT_TRY(HfDecoder decoder, read_decoder(config, kExaone4));
  INGOT_TRY(add_rope(config, {}, decoder));
  decoder.attention.qk_norm = QkNorm::kPerHead;
  decoder.attention.qk_norm_spec = decoder.spec.norm;
  INGOT_TRY(const int64_t window, read_window(config, 4096));

  ModelPlan plan = llama_plan(decoder, {});
  name_qk_norms("q_norm", "k_norm", false, plan);
  use_post_norms(plan);
  if (window == 0) return plan;
  INGOT_TRY(std::vector<bool> slides, read_slides(config, decoder.layers));
  set_windows(slides, window, plan);
  slides.flip();
  set_ropes(slides, -1, plan);
  return plan;
}

}  // namespace ingot

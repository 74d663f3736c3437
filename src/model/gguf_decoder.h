// SPDX-License-Identifier: Apache-2.0
// The keys and tensor names that all GGUF decoders share, as ModelSpec and WeightMap. What an
// architecture's name implies without a key saying so is its GgufFamily; gguf_archs.cc has them.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/gguf_config.h"
#include "model/mapper.h"

namespace ingot {

enum class RopeUse : uint8_t {
  kEverywhere,
  kNowhere,
  kSlidingLayers,  // only where a window applies; everywhere when no layer has one
  kThreeOfFour,    // every fourth layer is not rotated
};

struct GgufFamily {
  NormKind norm = NormKind::kRms;
  bool has_norm_weights = true;
  RopePairing pairing = RopePairing::kHalves;
  RopeUse rope = RopeUse::kEverywhere;
  Activation activation = Activation::kSilu;
  bool is_gated = true;
  BlockForm form = BlockForm::kSequential;
  bool has_mixer_norm = true;
  bool has_ffn_norm = true;
  bool has_post_norms = false;
  std::string_view ffn_norm = "ffn_norm";  // its name in the file
  QkNorm qk_norm = QkNorm::kNone;
  bool norm_after_rope = false;
  bool uses_alibi = false;
  // Layers with a window: every n-th has none, all others do; 0: all do.
  int64_t window_period = 0;
  int64_t window = 0;  // when the file does not say
  // Sliding layers: their own base (0: that of the others), and no scaling of the context.
  double sliding_theta = 0;
  bool has_plain_sliding_rope = false;
};

Result<ModelPlan> map_gguf_decoder(const GgufConfig& config, const GgufFamily& family);

// The ropes of a file: [0] for all layers, [1] for sliding ones where theirs differs.
Result<std::vector<RopeSpec>> read_gguf_ropes(const GgufConfig& config, const GgufFamily& family,
                                              int64_t head_dim, int64_t context);

}  // namespace ingot

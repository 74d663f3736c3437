// SPDX-License-Identifier: Apache-2.0
// The fields every decoder's config.json has, under the names and with the defaults of its family's
// configuration class. Arch files start here and then add what makes their family different.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "model/hf_config.h"
#include "model/spec.h"

namespace ingot {

// What a family calls its fields and what it assumes when they are missing.
struct DecoderFamily {
  std::string_view architecture;
  int64_t vocab;
  int64_t hidden;
  int64_t ffn;  // 0: four times hidden
  int64_t layers;
  int64_t heads;
  int64_t kv_heads = 0;  // 0: as many as heads
  int64_t head_dim = 0;  // 0: hidden / heads
  int64_t context;
  NormKind norm = NormKind::kRms;
  double norm_eps = 1e-5;
  std::string_view activation = "silu";
  bool ties_output = false;
  int32_t bos = -1;
  int32_t eos = -1;
  // Empty: the family has no such field.
  std::string_view hidden_key = "hidden_size";
  std::string_view ffn_key = "intermediate_size";
  std::string_view layers_key = "num_hidden_layers";
  std::string_view heads_key = "num_attention_heads";
  std::string_view kv_heads_key = "num_key_value_heads";
  std::string_view head_dim_key = "head_dim";
  std::string_view context_key = "max_position_embeddings";
  std::string_view norm_eps_key = "rms_norm_eps";
  std::string_view activation_key = "hidden_act";
};

// A model of equal, plain layers: pre-norms, attention without rope, gated FFN.
struct HfDecoder {
  ModelSpec spec;  // all but ropes and layers
  AttentionSpec attention;
  DenseFfnSpec ffn;
  int64_t layers = 0;
};
Result<HfDecoder> read_decoder(const HfConfig& config, const DecoderFamily& family);

struct RealRange {
  double min;
  double max;
};
inline constexpr RealRange kPositive = {1e-9, 1e9};
// Absent or null: the fallback, which is not checked.
Result<float> read_real(const HfConfig& config, std::string_view key, double fallback,
                        RealRange range = kPositive);

// Tokens a sliding layer sees; 0 for none. Null means none, absent the family's default.
Result<int64_t> read_window(const HfConfig& config, int64_t fallback);

// For every layer whether it slides: by `layer_types`, or where that is missing by the family's
// older rule.
Result<std::vector<bool>> read_sliding_layers(const HfConfig& config, int64_t layers,
                                              const std::function<bool(int64_t layer)>& rule);

// The usual older rule: every `sliding_window_pattern`-th layer is full.
Result<int64_t> read_window_pattern(const HfConfig& config, int64_t fallback);

}  // namespace ingot

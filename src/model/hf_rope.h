// SPDX-License-Identifier: Apache-2.0
// Rotary embeddings as config.json tells of them, in both spellings: `rope_parameters`, flat or one
// per layer type, and `rope_theta` with `rope_scaling`. All numbers are checked here, so that the
// tables (rope_table.h) can compute without asking.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/hf_config.h"
#include "model/hf_decoder.h"

namespace ingot {

// What a family assumes where its file says nothing.
struct RopeRules {
  RopePairing pairing = RopePairing::kHalves;
  double theta = 10000.0;
  std::string_view theta_key = "rope_theta";  // outside rope_parameters
  // The turned share of each head; 0: the family turns whole heads whatever the file says.
  double partial = 0;
  std::string_view partial_key = "partial_rotary_factor";
  int64_t original_context = 0;         // 0: the context
  bool takes_yarn_as_longrope = false;  // Phi-3's first spelling
};

// One rope for all layers: becomes ropes[0], and the attention turns by it.
Status add_rope(const HfConfig& config, const RopeRules& rules, HfDecoder& decoder);

// Two ropes: ropes[0] for full layers, ropes[1] for sliding ones. `rope_scaling` belongs to the
// full layers alone.
Status add_rope_per_layer_type(const HfConfig& config, const RopeRules& full,
                               const RopeRules& sliding, HfDecoder& decoder);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// config.json of a model that came from GGUF. Fields have the names its family uses; the caller
// reads them back by the family's mapper and refuses what they do not say.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "model/spec.h"

namespace ingot {

// What the tensors tell beyond the spec.
struct TensorFacts {
  bool has_qkv_bias = false;
  bool has_o_bias = false;
  bool has_ffn_bias = false;
  std::vector<float> rope_freqs;  // GGUF's divisors, empty where there are none
  std::vector<float> rope_short;
  std::vector<float> rope_long;
};

// Unsupported where no Hugging Face architecture is known for `gguf_architecture`.
Result<Json> make_hf_config(const ModelSpec& spec, std::string_view gguf_architecture,
                            const TensorFacts& facts, std::string_view dtype);

}  // namespace ingot

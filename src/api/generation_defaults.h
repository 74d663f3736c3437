// SPDX-License-Identifier: Apache-2.0
// The sampling and the ends of an answer that a model's makers recommend: generation_config.json
// beside safetensors, general.sampling.* inside GGUF. What they leave open stays as it was.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "engine/sampling.h"
#include "formats/checkpoint.h"

namespace ingot {

struct GenerationDefaults {
  SamplingParams sampling;
  std::vector<TokenId> eos_ids;
};

// Numbers outside their range are errors that name file and field; unknown fields are ignored.
Result<GenerationDefaults> parse_generation_config(const Json& config, std::string_view source);
Result<GenerationDefaults> generation_defaults(const Checkpoint& checkpoint);

}  // namespace ingot

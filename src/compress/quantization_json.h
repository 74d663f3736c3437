// SPDX-License-Identifier: Apache-2.0
// config.json's quantization_config for what was written, as transformers and vLLM read it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compress/compress_options.h"

namespace ingot {

// The modules of a rule's bits and groups, by name.
struct FormatGroup {
  WeightFormat format;
  std::vector<std::string> modules;
};

// `groups` has the format of most modules first; `kept` are the linear modules that stay plain,
// lm_head among them.
nlohmann::ordered_json quantization_json(const CompressOptions& options,
                                         const std::vector<FormatGroup>& groups,
                                         const std::vector<std::string>& kept);

}  // namespace ingot

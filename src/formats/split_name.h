// SPDX-License-Identifier: Apache-2.0
// Names of model files that come in parts: "model-00002-of-00007.gguf".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot {

struct SplitName {
  std::string prefix;   // "model"
  uint32_t number = 0;  // from 1
  uint32_t count = 0;
  std::string extension;  // ".gguf"

  std::string part(uint32_t part_number) const;
};
// Nothing when the name does not end in -NNNNN-of-NNNNN and an extension.
std::optional<SplitName> parse_split_name(std::string_view name);

}  // namespace ingot

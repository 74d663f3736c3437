// SPDX-License-Identifier: Apache-2.0
// A module's name from that of its weight: "model.layers.0.mlp.up_proj.weight" is a tensor of
// "model.layers.0.mlp.up_proj". Quantized forms of the weight stand under the same module.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

inline constexpr std::string_view kWeightSuffix = ".weight";

// A name without the suffix is its own module.
inline std::string module_of(std::string_view tensor) {
  if (tensor.ends_with(kWeightSuffix)) tensor.remove_suffix(kWeightSuffix.size());
  return std::string(tensor);
}

}  // namespace ingot

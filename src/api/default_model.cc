// SPDX-License-Identifier: Apache-2.0
#include "api/loaded_model.h"

// Defined by default_model.S.
extern "C" {
extern const std::byte ingot_default_model_begin[];
extern const std::byte ingot_default_model_end[];
}

namespace ingot {

std::span<const std::byte> default_model_bytes() {
  return {ingot_default_model_begin, ingot_default_model_end};
}

}  // namespace ingot

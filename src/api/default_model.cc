// SPDX-License-Identifier: Apache-2.0
#include "api/loaded_model.h"

// Defined by default_model.S; symbols of the assembler are no constants of ours to rename.
extern "C" {
// NOLINTNEXTLINE(readability-identifier-naming): see above
extern const std::byte ingot_default_model_begin[];
// NOLINTNEXTLINE(readability-identifier-naming): see above
extern const std::byte ingot_default_model_end[];
}

namespace ingot {

std::span<const std::byte> default_model_bytes() {
  return {ingot_default_model_begin, ingot_default_model_end};
}

}  // namespace ingot

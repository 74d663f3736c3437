// SPDX-License-Identifier: Apache-2.0
// What a tensor of a GGUF file does, by its name.
#pragma once

#include <string_view>

#include "convert/source_tensor.h"

namespace ingot {

struct NamedKind {
  TensorKind kind = TensorKind::kOther;
  int layer = -1;
};
NamedKind kind_of_gguf_name(std::string_view name);

}  // namespace ingot

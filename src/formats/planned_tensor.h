// SPDX-License-Identifier: Apache-2.0
// A tensor that a file will hold: all that its header needs to know, before the bytes exist.
#pragma once

#include <string>

#include "tensor/tensor_view.h"

namespace ingot {

struct PlannedTensor {
  std::string name;
  Layout layout = Layout::kF32;
  Shape shape;
};

}  // namespace ingot

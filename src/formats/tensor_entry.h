// SPDX-License-Identifier: Apache-2.0
// A named tensor of a checkpoint file, as every container hands it out.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/tensor_view.h"

namespace ingot {

struct TensorEntry {
  std::string name;
  TensorView tensor;         // a view into the mapped file
  uint64_t file_offset = 0;  // where its bytes begin, for messages and `inspect`
};

}  // namespace ingot

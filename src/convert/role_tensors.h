// SPDX-License-Identifier: Apache-2.0
// The tensors of a decoder by their role: a name in GGUF, the shape the spec gives, and the rows of
// the input that make it. Both directions of a conversion walk this one list.
#pragma once

#include <string>
#include <vector>

#include "convert/gguf_arch.h"
#include "convert/source_tensor.h"
#include "convert/weight_rows.h"
#include "model/mapper.h"

namespace ingot {

struct RoleTensor {
  std::string name;  // in GGUF
  Shape shape;
  TensorKind kind = TensorKind::kOther;
  int layer = -1;
  std::vector<RowPart> parts;
  bool is_norm_weight = false;  // where "+ 1" may be folded in
  // Rows come in heads that a rope turns: their order follows its pairing.
  int64_t turned_heads = 0;
  int64_t head_rows = 0;
};

// Optional sources that the input does not have are left out.
std::vector<RoleTensor> role_tensors(const WeightInput& input, const GgufArch& arch);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// The order of a head's rows follows how its rope pairs them: halves (Hugging Face) or neighbours
// (many GGUF architectures). Moving rows between the two changes no result.
#pragma once

#include <vector>

#include "convert/role_tensors.h"
#include "kernels/rope.h"

namespace ingot {

// One row of a tensor, by the part it is in.
struct PlacedRow {
  size_t part;
  int64_t row;  // of its tensor
};
std::vector<PlacedRow> placed_rows(const std::vector<RowPart>& parts);
// The parts that give these rows in this order.
std::vector<RowPart> gathered_rows(const std::vector<RowPart>& parts,
                                   const std::vector<PlacedRow>& rows);

// Reorders the parts of a tensor of turned heads; the last rows of each head stay.
void reorder_heads(RopePairing from, RopePairing to, int64_t rotary_dim, RoleTensor& tensor);

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// Which type each tensor gets when there are so many bytes, or so much loss, for all of them: pure
// arithmetic over what each choice costs and loses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "blocks/layout_id.h"

namespace ingot {

struct TypeChoice {
  Layout layout = Layout::kF16;
  uint64_t bytes = 0;
  double loss = 0;  // estimated KL divergence that this choice adds
};
using TensorChoices = std::vector<TypeChoice>;  // of one tensor, in any order

struct Allocation {
  std::vector<size_t> chosen;  // one index for each tensor
  uint64_t bytes = 0;
  double loss = 0;
};

// The least loss within so many bytes; the smallest choices where even those do not fit. Steps go
// to whichever tensor gains most a byte: optimal up to the last step.
Allocation allocate_bytes(std::span<const TensorChoices> tensors, uint64_t bytes);
// The fewest bytes whose losses sum to at most `loss`.
Allocation allocate_loss(std::span<const TensorChoices> tensors, double loss);

}  // namespace ingot

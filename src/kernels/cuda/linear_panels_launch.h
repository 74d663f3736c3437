// SPDX-License-Identifier: Apache-2.0
// The two halves of linear_panels(), which are built apart because together they take long.
#pragma once

#include "kernels/cuda/linear.h"

namespace ingot::cuda {

void linear_groups(Packing packing, const LinearParts& parts, const ByteInput& x, Stream stream);
void linear_blocks(Packing packing, const LinearParts& parts, const ByteInput& x, Stream stream);

}  // namespace ingot::cuda

// SPDX-License-Identifier: Apache-2.0
// Linear layers of one input that share a launch: which do, and what a kernel is told of them.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/cuda/cuda_inputs.h"
#include "kernels/cuda/cuda_weight.h"
#include "kernels/linear.h"

namespace ingot::cuda {

const Weight& weight_of(const Linear& linear);
// How many of the first ones can share a launch; at least one.
size_t count_together(std::span<const LinearOutput> outputs);
LinearParts parts_of(std::span<const LinearOutput> outputs, const PreparedInput& x);

}  // namespace ingot::cuda

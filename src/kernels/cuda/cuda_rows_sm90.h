// SPDX-License-Identifier: Apache-2.0
// Weights in rows by 9 tokens and more on Hopper: which linear layers linear_rows_sm90() takes, and
// by inputs in which form. It is between the kernels for few tokens and the library, whose tiles
// are made for more.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "kernels/cuda/cuda_inputs.h"
#include "kernels/cuda/cuda_weight.h"
#include "kernels/linear.h"

namespace ingot::cuda {

// Of weights that go together.
bool takes_rows_sm90(std::span<const LinearOutput> outputs, int64_t tokens);
// Where they are taken. False where the driver cannot map them.
Result<bool> run_rows_sm90(Inputs& inputs, std::span<const LinearOutput> outputs,
                           const Gating& gating, Stream stream);
InputForm rows_sm90_form(std::span<const LinearOutput> outputs);

}  // namespace ingot::cuda

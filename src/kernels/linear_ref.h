// SPDX-License-Identifier: Apache-2.0
// Scalar references of the linear kernels: a few lines each, for every packing of their family.
#pragma once

#include "kernels/linear.h"

namespace ingot::ref {

void linear_rows(const LinearArgs& args, int64_t begin, int64_t end);
void linear_floats(const LinearArgs& args, Packing packing, int64_t begin, int64_t end);
void linear_words(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups(const LinearArgs& args, Packing packing, int64_t begin, int64_t end);
void linear_blocks(const LinearArgs& args, Packing packing, int64_t begin, int64_t end);

// Whole-number value of every code of a row's run of 32 columns.
void read_run(const std::byte* run, const PackingInfo& facts, int64_t row, int (&values)[32]);

}  // namespace ingot::ref

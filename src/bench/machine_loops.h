// SPDX-License-Identifier: Apache-2.0
// The loops of peak_loops.h that this machine can run, and what stands in for them elsewhere.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bench/peak_loops.h"
#include "kernels/target.h"

namespace ingot {

struct TargetLoop {
  Target target;
  PeakLoop loop;
};
std::vector<TargetLoop> peak_loops();  // never empty

// With the widest loads there are. Aligned to 64 bytes, a multiple of 4096.
int64_t read_all(TargetSet targets, std::span<const std::byte> bytes);

}  // namespace ingot

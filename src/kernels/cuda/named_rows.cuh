// SPDX-License-Identifier: Apache-2.0
// Which row of a table is meant where some are named by what a step before has sampled.
#pragma once

#include "kernels/cuda/decode.h"

namespace ingot::cuda {

// What could not be sampled is left to the host, which drops what was computed behind it: any row.
__device__ inline int number_of(const NamedRows& named, int index) {
  const int number = named.rows[index];
  return number >= 0 ? number : max(named.sampled[-1 - number], 0);
}

}  // namespace ingot::cuda

// SPDX-License-Identifier: Apache-2.0
// Work that is left to whichever thread block is done last.
#pragma once

#include <cstdint>

namespace ingot::cuda {

// Whether this thread block is the last of `count` to come here; what the others wrote before can
// then be read. The counter is zero again afterwards.
__device__ inline bool is_last_of(uint32_t* counter, int count) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(counter, 1u) == static_cast<uint32_t>(count - 1);
    if (is_last) *counter = 0;
  }
  __syncthreads();
  if (is_last) __threadfence();
  return is_last;
}

}  // namespace ingot::cuda

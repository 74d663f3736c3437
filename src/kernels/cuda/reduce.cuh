// SPDX-License-Identifier: Apache-2.0
// Sums and maxima over a warp or a block of threads, in one fixed order.
#pragma once

#include <cstdint>

namespace ingot::cuda {

struct Add {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Max {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};
struct Min {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};

// Every lane gets the result.
template <class T, class Op>
__device__ inline T warp_reduce(T value, Op op, int width = 32) {
  for (int offset = width / 2; offset > 0; offset /= 2)
    value = op(value, __shfl_xor_sync(0xFFFFFFFF, value, offset));
  return value;
}

// Every thread gets the result; `slots` are 32 of shared memory. May be called again at once.
template <class T, class Op>
__device__ inline T block_reduce(T value, Op op, T* slots) {
  value = warp_reduce(value, op);
  const int warps = static_cast<int>(blockDim.x) / 32;
  if (warps == 1) return value;
  __syncthreads();  // the slots may still be read from a call before
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = value;
  __syncthreads();
  T result = slots[0];
  for (int i = 1; i < warps; ++i)
    result = op(result, slots[i]);
  return result;
}

}  // namespace ingot::cuda

// SPDX-License-Identifier: Apache-2.0
// Products of Hopper's tensor cores (wgmma.cuh) whose right factor has its summed elements in rows,
// f16 by f16: c += a b^T for 64 rows of a, in registers, and 32, 64 or 128 rows of b, in shared
// memory.
#pragma once

#include "kernels/cuda/wgmma.cuh"

namespace ingot::cuda {

__device__ __forceinline__ void multiply_rows(float (&c)[16], const uint32_t (&a)[4], uint64_t b) {
  INGOT_ADD_PRODUCT_16("m64n32k16.f32.f16.f16", ", 1, 1, 1, 0");
}
__device__ __forceinline__ void multiply_rows(float (&c)[32], const uint32_t (&a)[4], uint64_t b) {
  INGOT_ADD_PRODUCT_32("m64n64k16.f32.f16.f16", ", 1, 1, 1, 0");
}
__device__ __forceinline__ void multiply_rows(float (&c)[64], const uint32_t (&a)[4], uint64_t b) {
  INGOT_ADD_PRODUCT_64("m64n128k16.f32.f16.f16", ", 1, 1, 1, 0");
}

}  // namespace ingot::cuda

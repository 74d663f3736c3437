// SPDX-License-Identifier: Apache-2.0
// Products of Hopper's tensor cores (wgmma.cuh) with both factors in shared memory, their summed
// elements in rows: c (+)= a b^T for 64 rows of a and 16, 32, 64 or 128 rows of b, 32 bytes of
// each. c starts at 0 unless `is_added`. Sums of e4m3 are kept with some 14 bits only.
#pragma once

#include <cuda_fp8.h>

#include "kernels/cuda/wgmma.cuh"

namespace ingot::cuda {

template <class Element>
struct TileProducts;

template <>
struct TileProducts<__half> {
  using Sum = float;
  static __device__ __forceinline__ void multiply(float (&c)[8], uint64_t a, uint64_t b,
                                                  int is_added) {
    INGOT_MULTIPLY_8("m64n16k16.f32.f16.f16", ", 1, 1, 0, 0", "+f");
  }
  static __device__ __forceinline__ void multiply(float (&c)[16], uint64_t a, uint64_t b,
                                                  int is_added) {
    INGOT_MULTIPLY_16("m64n32k16.f32.f16.f16", ", 1, 1, 0, 0", "+f");
  }
  static __device__ __forceinline__ void multiply(float (&c)[32], uint64_t a, uint64_t b,
                                                  int is_added) {
    INGOT_MULTIPLY_32("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", "+f");
  }
  static __device__ __forceinline__ void multiply(float (&c)[64], uint64_t a, uint64_t b,
                                                  int is_added) {
    INGOT_MULTIPLY_64("m64n128k16.f32.f16.f16", ", 1, 1, 0, 0", "+f");
  }
};

template <>
struct TileProducts<__nv_bfloat16> {
  using Sum = float;
  static __device__ __forceinline__ void multiply(float (&c)[8], uint64_t a, uint64_t b,
                                                  int is_added) {
    INGOT_MULTIPLY_8("m64n16k16.f32.bf16.bf16", ", 1, 1, 0, 0", "+f");
  }
  static __device__ __forceinline__ void multiply(float (&c)[16], uint64_t a, uint64_t b,
                                                  int is_added) {
    INGOT_MULTIPLY_16("m64n32k16.f32.bf16.bf16", ", 1, 1, 0, 0", "+f");
  }
  static __device__ __forceinline__ void multiply(float (&c)[32], uint64_t a, uint64_t b,
                                                  int is_added) {
    INGOT_MULTIPLY_32("m64n64k16.f32.bf16.bf16", ", 1, 1, 0, 0", "+f");
  }
  static __device__ __forceinline__ void multiply(float (&c)[64], uint64_t a, uint64_t b,
                                                  int is_added) {
    INGOT_MULTIPLY_64("m64n128k16.f32.bf16.bf16", ", 1, 1, 0, 0", "+f");
  }
};

template <>
struct TileProducts<__nv_fp8_e4m3> {
  using Sum = float;
  static __device__ __forceinline__ void multiply(float (&c)[8], uint64_t a, uint64_t b,
                                                  int is_added) {
    INGOT_MULTIPLY_8("m64n16k32.f32.e4m3.e4m3", ", 1, 1", "+f");
  }
  static __device__ __forceinline__ void multiply(float (&c)[16], uint64_t a, uint64_t b,
                                                  int is_added) {
    INGOT_MULTIPLY_16("m64n32k32.f32.e4m3.e4m3", ", 1, 1", "+f");
  }
  static __device__ __forceinline__ void multiply(float (&c)[32], uint64_t a, uint64_t b,
                                                  int is_added) {
    INGOT_MULTIPLY_32("m64n64k32.f32.e4m3.e4m3", ", 1, 1", "+f");
  }
  static __device__ __forceinline__ void multiply(float (&c)[64], uint64_t a, uint64_t b,
                                                  int is_added) {
    INGOT_MULTIPLY_64("m64n128k32.f32.e4m3.e4m3", ", 1, 1", "+f");
  }
};

template <>
struct TileProducts<int8_t> {
  using Sum = int32_t;
  static __device__ __forceinline__ void multiply(int32_t (&c)[8], uint64_t a, uint64_t b,
                                                  int is_added) {
    INGOT_MULTIPLY_8("m64n16k32.s32.s8.s8", "", "+r");
  }
  static __device__ __forceinline__ void multiply(int32_t (&c)[16], uint64_t a, uint64_t b,
                                                  int is_added) {
    INGOT_MULTIPLY_16("m64n32k32.s32.s8.s8", "", "+r");
  }
  static __device__ __forceinline__ void multiply(int32_t (&c)[32], uint64_t a, uint64_t b,
                                                  int is_added) {
    INGOT_MULTIPLY_32("m64n64k32.s32.s8.s8", "", "+r");
  }
  static __device__ __forceinline__ void multiply(int32_t (&c)[64], uint64_t a, uint64_t b,
                                                  int is_added) {
    INGOT_MULTIPLY_64("m64n128k32.s32.s8.s8", "", "+r");
  }
};

}  // namespace ingot::cuda

// SPDX-License-Identifier: Apache-2.0
// The warpgroup-wide products of Hopper's tensor cores (sm_90a): 64 x N x 16, issued by four warps
// together and done in the background. The left factor is in shared memory or registers, the right
// in shared memory, both in rows of 128 bytes whose 16-byte chunks are swizzled (mma.cuh), eight
// rows after eight. Accumulators lie as mma.cuh's c, tile after tile of 8 columns, 16 rows a warp.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/cuda/wgmma_operands.h"

namespace ingot::cuda {

// A matrix in shared memory, its first row at a multiple of 1024 bytes. `leading` and `stride` in
// bytes. Elements of a row along the summed dimension: stride is from eight rows to the next,
// leading is not used; 16 elements further are 32 bytes. Rows along the summed dimension: stride is
// from eight rows to the next, leading from 64 columns to the next 64; 16 rows further are 2048
// bytes.
__device__ __forceinline__ uint64_t matrix_descriptor(uint32_t address, uint32_t leading,
                                                      uint32_t stride) {
  return static_cast<uint64_t>((address & 0x3FFFFu) >> 4) |
         (static_cast<uint64_t>(leading >> 4) << 16) | (static_cast<uint64_t>(stride >> 4) << 32) |
         (uint64_t{1} << 62);
}
// The same matrix from so many bytes further on.
__device__ __forceinline__ uint64_t advanced(uint64_t descriptor, uint32_t bytes) {
  return descriptor + (bytes >> 4);
}

// Before the first product, and after accumulators or left factors in registers were changed.
__device__ __forceinline__ void warpgroup_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void close_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kUnderWay>
__device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kUnderWay) : "memory");
}
// The compiler may not move uses of these across.
template <int kCount>
__device__ __forceinline__ void pin(float (&registers)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    asm volatile("" : "+f"(registers[i])::"memory");
}
template <int kCount>
__device__ __forceinline__ void pin(uint32_t (&registers)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    asm volatile("" : "+r"(registers[i])::"memory");
}
template <int kCount>
__device__ __forceinline__ void pin(int32_t (&registers)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    asm volatile("" : "+r"(registers[i])::"memory");
}
// Waits for products that follow stay behind the computing of `value`, which is never negative. The
// assembler moves such a wait, which needs no register, up to the last access to memory, and so
// before all work that was to be done meanwhile: here is an access, which never happens.
__device__ __forceinline__ void hold_waits_until_known(float value, uint32_t anywhere) {
  asm volatile(
      "{\n"
      ".reg .pred never;\n"
      "setp.lt.f32 never, %0, 0f00000000;\n"
      "@never st.shared.f32 [%1], %0;\n"
      "}\n" ::"f"(value),
      "r"(anywhere)
      : "memory");
}
// What a thread wrote to shared memory becomes what the tensor cores read, after a barrier.
__device__ __forceinline__ void fence_for_tensor_cores() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
template <int kRegisters>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// A barrier in shared memory on which some threads arrive and others wait, phase after phase.
__device__ __forceinline__ void make_barrier(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// The same on one of any block of the cluster (address_in_rank()).
__device__ __forceinline__ void arrive_in_cluster(uint32_t barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier)
               : "memory");
}
// Until the phase of this parity is over; that before the first has parity 1.
__device__ __forceinline__ void wait_for_phase(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
      "@done bra.uni over;\n"
      "bra.uni again;\n"
      "over:\n"
      "}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// c (+)= a b^T, a and b rows of summed elements in shared memory; c starts at 0 unless `is_added`.
template <class Element>
__device__ __forceinline__ void multiply_64x128x16(float (&c)[64], uint64_t a, uint64_t b,
                                                   int is_added);
// c += a b, a in registers, b with rows along the summed dimension in shared memory.
template <class Element>
__device__ __forceinline__ void multiply_64x128x16(float (&c)[64], const uint32_t (&a)[4],
                                                   uint64_t b);
template <class Element>
__device__ __forceinline__ void multiply_64x64x16(float (&c)[32], const uint32_t (&a)[4],
                                                  uint64_t b);

template <>
__device__ __forceinline__ void multiply_64x128x16<__half>(float (&c)[64], uint64_t a, uint64_t b,
                                                           int is_added) {
  INGOT_MULTIPLY_64("m64n128k16.f32.f16.f16", ", 1, 1, 0, 0", "+f");
}
template <>
__device__ __forceinline__ void multiply_64x128x16<__half>(float (&c)[64], const uint32_t (&a)[4],
                                                           uint64_t b) {
  INGOT_ADD_PRODUCT_64("m64n128k16.f32.f16.f16", ", 1, 1, 1, 1");
}
template <>
__device__ __forceinline__ void multiply_64x64x16<__half>(float (&c)[32], const uint32_t (&a)[4],
                                                          uint64_t b) {
  INGOT_ADD_PRODUCT_32("m64n64k16.f32.f16.f16", ", 1, 1, 1, 1");
}
template <>
__device__ __forceinline__ void multiply_64x128x16<__nv_bfloat16>(float (&c)[64], uint64_t a,
                                                                  uint64_t b, int is_added) {
  INGOT_MULTIPLY_64("m64n128k16.f32.bf16.bf16", ", 1, 1, 0, 0", "+f");
}
template <>
__device__ __forceinline__ void multiply_64x128x16<__nv_bfloat16>(float (&c)[64],
                                                                  const uint32_t (&a)[4],
                                                                  uint64_t b) {
  INGOT_ADD_PRODUCT_64("m64n128k16.f32.bf16.bf16", ", 1, 1, 1, 1");
}
template <>
__device__ __forceinline__ void multiply_64x64x16<__nv_bfloat16>(float (&c)[32],
                                                                 const uint32_t (&a)[4],
                                                                 uint64_t b) {
  INGOT_ADD_PRODUCT_32("m64n64k16.f32.bf16.bf16", ", 1, 1, 1, 1");
}

}  // namespace ingot::cuda

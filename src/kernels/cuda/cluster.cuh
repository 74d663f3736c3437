// SPDX-License-Identifier: Apache-2.0
// Blocks of threads that run together and reach each other's shared memory (Hopper and later).
// Elsewhere a cluster is one block.
#pragma once

#include <cstdint>

namespace ingot::cuda {

inline constexpr int kMostOfCluster = 8;  // blocks that every such device takes together

__device__ inline int cluster_size() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  uint32_t size;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return static_cast<int>(size);
#else
  return 1;
#endif
}
__device__ inline int cluster_rank() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
#else
  return 0;
#endif
}

// All threads of all blocks have arrived before any goes on: what was written before is seen.
__device__ inline void arrive_at_cluster() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}
__device__ inline void wait_for_cluster() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
  __syncthreads();
#endif
}

// As arrive and wait, with nothing to be seen: nobody ends before others are done with its memory.
__device__ inline void leave_cluster() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
#endif
}

// Into the shared memory of the block `rank`, where `to` is in this one's; it must have begun.
__device__ inline void store_to_rank(uint32_t* to, [[maybe_unused]] int rank, uint32_t value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  const auto own = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile(
      "{\n"
      ".reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "st.shared::cluster.u32 [there], %2;\n"
      "}" ::"r"(own),
      "r"(rank), "r"(value)
      : "memory");
#else
  *to = value;
#endif
}

// Four floats from the shared memory of the block `rank`, where `from` is in this one's.
__device__ inline float4 load_from_rank(const float* from, [[maybe_unused]] int rank) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  const auto own = static_cast<uint32_t>(__cvta_generic_to_shared(from));
  float4 four;
  asm volatile(
      "{\n"
      ".reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %4, %5;\n"
      "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there];\n"
      "}"
      : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
      : "r"(own), "r"(rank)
      : "memory");
  return four;
#else
  return *reinterpret_cast<const float4*>(from);
#endif
}

}  // namespace ingot::cuda

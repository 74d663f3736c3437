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

// Around the first letters of a kernel: begin once all of a block's are open, end before the first
// is sent. Nobody waits in between.
__device__ inline void begin_opening() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __syncwarp();
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}
__device__ inline void end_opening() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __syncwarp();
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// What is at `address` of this block's shared memory, in that of the block `rank`.
__device__ __forceinline__ uint32_t address_in_rank(uint32_t address, [[maybe_unused]] int rank) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
#else
  return address;
#endif
}

// In shared memory: kWords numbers from each block of a cluster to every block, once. They come
// with what counts them, so that nobody waits for memory that has nothing to do with them.
template <int kWords>
struct ClusterLetters {
  uint64_t barrier;
  uint32_t from[kMostOfCluster][kWords];

  // All threads, when a kernel begins.
  __device__ void open() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0) {
      const auto own = static_cast<uint32_t>(__cvta_generic_to_shared(&barrier));
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(own) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(own),
                   "r"(cluster_size() * kWords * 4)
                   : "memory");
    }
#endif
  }
  // All threads; the first few have the words. Then `from` is there.
  __device__ void exchange([[maybe_unused]] const uint32_t (&words)[kWords]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const auto rank = static_cast<int>(threadIdx.x);
    const auto own = static_cast<uint32_t>(__cvta_generic_to_shared(&barrier));
    if (rank < cluster_size()) {
      const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(from[cluster_rank()]));
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        asm volatile(
            "{\n"
            ".reg .b32 there, counter;\n"
            "mapa.shared::cluster.u32 there, %0, %2;\n"
            "mapa.shared::cluster.u32 counter, %1, %2;\n"
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [there], %3, [counter];\n"
            "}" ::"r"(to + 4 * i),
            "r"(own), "r"(rank), "r"(words[i])
            : "memory");
      }
    }
    __syncwarp();
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], 0;\n"
        "@!done bra again;\n"
        "}" ::"r"(own)
        : "memory");
#endif
  }
};

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

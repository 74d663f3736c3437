// SPDX-License-Identifier: Apache-2.0
// A warp's copies into shared memory, in kStages stages that are awaited in the order in which they
// were sent for. Hopper copies with one instruction of one lane and counts the bytes that arrive;
// older devices copy pieces of 16 bytes, and a warp that has such a ring makes no other copies. All
// lanes make all calls, with the same arguments.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/cp_async.cuh"

namespace ingot::cuda {

// kAhead: how many stages were sent for behind the one that is awaited.
template <int kStages, int kAhead>
class CopyRing {
 public:
  // kStages barriers in shared memory, this warp's own.
  __device__ explicit CopyRing(uint64_t* barriers)
      : barriers_(static_cast<uint32_t>(__cvta_generic_to_shared(barriers))) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (threadIdx.x % 32 == 0) {
      for (int i = 0; i < kStages; ++i)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers_ + 8 * i) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncwarp();
#endif
  }

  // The next stage: copies of `bytes` in all follow, then end(). Or nothing: skip().
  __device__ int begin([[maybe_unused]] int bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (threadIdx.x % 32 == 0) {
      asm volatile(
          "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barriers_ + 8 * sent_),
          "r"(bytes)
          : "memory");
    }
#endif
    return sent_;
  }
  // Addresses and bytes are multiples of 16.
  __device__ void copy(void* to, const void* from, int bytes) const {
    const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(to));
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (threadIdx.x % 32 == 0) {
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
          "[%3];" ::"r"(at),
          "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barriers_ + 8 * sent_)
          : "memory");
    }
#else
    const auto* bytes_from = static_cast<const std::byte*>(from);
    for (int i = threadIdx.x % 32 * 16; i < bytes; i += 32 * 16)
      copy_async(at + static_cast<uint32_t>(i), bytes_from + i);
#endif
  }
  __device__ void end() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 900
    close_copies();
#endif
    sent_ = sent_ + 1 == kStages ? 0 : sent_ + 1;
  }
  __device__ void skip() {
    end();
  }

  // Until the i-th stage of the first round is there; older devices do not wait.
  __device__ void wait_for([[maybe_unused]] int stage) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    wait_until(barriers_ + 8 * stage, 0);
#endif
  }
  // The oldest stage, once it is there.
  __device__ int wait() const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    wait_until(barriers_ + 8 * next_, phase_);
#else
    wait_for_copies<kAhead>();
    __syncwarp();
#endif
    return next_;
  }
  // It has been read by this lane, or handed on.
  __device__ void release() {
    __syncwarp();
    if (++next_ == kStages) {
      next_ = 0;
      phase_ ^= 1;
    }
  }

 private:
  static __device__ void wait_until(uint32_t barrier, uint32_t phase) {
    asm volatile(
        "{\n"
        ".reg .pred there;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 there, [%0], %1;\n"
        "@there bra done;\n"
        "bra again;\n"
        "done:\n"
        "}" ::"r"(barrier),
        "r"(phase)
        : "memory");
  }

  uint32_t barriers_;
  int sent_ = 0;
  int next_ = 0;
  uint32_t phase_ = 0;
};

// Blocks of weights, kStages of them.
template <int kBytes, int kStages>
class WeightRing {
  static_assert(kBytes % 16 == 0);

 public:
  // Shared memory: kStages * kBytes, aligned to 16, and kStages barriers, both this warp's own.
  __device__ WeightRing(std::byte* memory, uint64_t* barriers) : memory_(memory), ring_(barriers) {}
  // Sends for the next block, at most kStages ahead of the last release(); bytes 0: there are no
  // more.
  __device__ void fetch(const std::byte* from, int bytes) {
    if (bytes == 0) return ring_.skip();
    ring_.copy(memory_ + ring_.begin(bytes) * kBytes, from, bytes);
    ring_.end();
  }
  __device__ void wait_for(int stage) const { ring_.wait_for(stage); }
  __device__ const std::byte* wait() const { return memory_ + ring_.wait() * kBytes; }
  __device__ void release() { ring_.release(); }

 private:
  std::byte* memory_;
  CopyRing<kStages, kStages - 1> ring_;
};

}  // namespace ingot::cuda

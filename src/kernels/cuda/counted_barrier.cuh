// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory that some arrive at and others wait for, as often as there are rounds:
// nobody who arrives has to wait.
#pragma once

#include <cstdint>

namespace ingot::cuda {

// By one thread, before a barrier of the block.
__device__ inline void open_counted(uint64_t& barrier, int arrivals) {
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(&barrier));
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
}
// What this thread wrote before is seen by those who waited.
__device__ inline void arrive_counted(uint64_t& barrier) {
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(&barrier));
  asm volatile(
      "{\n"
      ".reg .b64 state;\n"
      "mbarrier.arrive.shared::cta.b64 state, [%0];\n"
      "}" ::"r"(at)
      : "memory");
}
// Until all have arrived for the `turn`-th time, counted from zero; nobody may be two turns on.
__device__ inline void wait_counted(uint64_t& barrier, int turn) {
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(&barrier));
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define INGOT_TRY_WAIT "mbarrier.try_wait.parity.shared::cta.b64 "  // sleeps meanwhile
#else
#define INGOT_TRY_WAIT "mbarrier.test_wait.parity.shared::cta.b64 "
#endif
  asm volatile(
      "{\n"
      ".reg .pred there;\n"
      "again:\n" INGOT_TRY_WAIT
      "there, [%0], %1;\n"
      "@there bra done;\n"
      "bra again;\n"
      "done:\n"
      "}" ::"r"(at),
      "r"(turn & 1)
      : "memory");
#undef INGOT_TRY_WAIT
}

}  // namespace ingot::cuda

// SPDX-License-Identifier: Apache-2.0
// Copies from global to shared memory that go on while a thread does other things: issued one by
// one, closed into groups, awaited by how many groups may still be under way. Each thread waits for
// its own; a barrier makes them everyone's.
#pragma once

#include <cstdint>

namespace ingot::cuda {

// 16 bytes, both addresses multiples of 16; past the first-level cache, as each is read once.
__device__ __forceinline__ void copy_async(uint32_t to_shared, const void* from) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to_shared),
               "l"(__cvta_generic_to_global(from))
               : "memory");
}
// Zeros instead where not is_there; `from` is not read then, but must be an aligned address.
__device__ __forceinline__ void copy_async_or_zero(uint32_t to_shared, const void* from,
                                                   bool is_there) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to_shared),
               "l"(__cvta_generic_to_global(from)), "r"(is_there ? 16 : 0)
               : "memory");
}
// 4 bytes, by way of the first-level cache.
__device__ __forceinline__ void copy_async_4(uint32_t to_shared, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to_shared),
               "l"(__cvta_generic_to_global(from))
               : "memory");
}
__device__ __forceinline__ void close_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// All but the latest `kUnderWay` groups have arrived.
template <int kUnderWay>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kUnderWay) : "memory");
}

}  // namespace ingot::cuda

// SPDX-License-Identifier: Apache-2.0
// Hopper's copies into shared memory, of boxes of tensors (tensor_map.h) and of plain bytes: one
// thread asks, a barrier of wgmma.cuh counts the bytes that arrive, and the tensor cores see them
// without a fence.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace ingot::cuda {

// Where a box begins.
struct BoxPlace {
  int32_t element;
  int32_t row;
  int32_t page;
};

// And one of a matrix.
struct MatrixPlace {
  int32_t byte;  // of the row
  int32_t row;
};

// Fetches what a map says ahead of its first use.
__device__ __forceinline__ void prefetch_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<uint64_t>(&map)) : "memory");
}
// Barriers that were just made are made for copies too.
__device__ __forceinline__ void show_barriers_to_copies() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// Arrives on a barrier whose phase ends no sooner than `bytes` more have been copied.
__device__ __forceinline__ void arrive_expecting(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
               "r"(bytes)
               : "memory");
}
// A whole box, zeros for what the tensor does not have, to a multiple of 1024 bytes.
__device__ __forceinline__ void copy_box(const CUtensorMap& map, BoxPlace place, uint32_t to_shared,
                                         uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to_shared),
      "l"(reinterpret_cast<uint64_t>(&map)), "r"(place.element), "r"(place.row), "r"(place.page),
      "r"(barrier)
      : "memory");
}
__device__ __forceinline__ void copy_matrix_box(const CUtensorMap& map, MatrixPlace place,
                                                uint32_t to_shared, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(to_shared),
      "l"(reinterpret_cast<uint64_t>(&map)), "r"(place.byte), "r"(place.row), "r"(barrier)
      : "memory");
}
// The same to the same place in all blocks of a cluster whose bits are set in `ranks`, and counted
// by the barrier that is there in each.
__device__ __forceinline__ void copy_matrix_box_to(uint32_t ranks, const CUtensorMap& map,
                                                   MatrixPlace place, uint32_t to_shared,
                                                   uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to_shared),
      "l"(reinterpret_cast<uint64_t>(&map)), "r"(place.byte), "r"(place.row), "r"(barrier),
      "h"(static_cast<uint16_t>(ranks))
      : "memory");
}
// Neighbouring bytes; their number and both addresses are multiples of 16.
__device__ __forceinline__ void copy_bytes(uint32_t to_shared, const void* from, uint32_t bytes,
                                           uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to_shared),
      "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
      : "memory");
}

}  // namespace ingot::cuda

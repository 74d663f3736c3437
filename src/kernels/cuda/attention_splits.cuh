// SPDX-License-Identifier: Apache-2.0
// Joining a row's splits inside the kernel that made them, by the thread block that is done last:
// the same numbers as attention_join.cu gives.
#pragma once

#include "kernels/cuda/attention_device.cuh"
#include "kernels/cuda/attention_paths.h"

namespace ingot::cuda {

// Whether this thread block is the last of `count` to come here; what the others wrote before can
// then be read, past the first-level cache. The counter is zero again afterwards. One thread's
// atomic orders the whole block's writes: the barrier made them its own.
__device__ __forceinline__ bool is_last_share(uint32_t* counter, int count, volatile int* is_last) {
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t before;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;"
                 : "=r"(before)
                 : "l"(__cvta_generic_to_global(counter))
                 : "memory");
    *is_last = before == static_cast<uint32_t>(count - 1);
    if (*is_last != 0) *counter = 0;
  }
  __syncthreads();
  return *is_last != 0;
}

// Volatile, so that all of a row's loads are sent before the first is waited for.
template <int kCount>
__device__ __forceinline__ void load_part(const float* from, float (&to)[kCount]) {
  const size_t address = __cvta_generic_to_global(from);
  if constexpr (kCount == 2) {
    asm volatile("ld.relaxed.gpu.global.v2.f32 {%0, %1}, [%2];"
                 : "=f"(to[0]), "=f"(to[1])
                 : "l"(address));
  } else {
#pragma unroll
    for (int e = 0; e < kCount; e += 4) {
      asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(to[e]), "=f"(to[e + 1]), "=f"(to[e + 2]), "=f"(to[e + 3])
                   : "l"(address + 4 * e));
    }
  }
}

// One row and head by one warp: lane l has elements kDim / 32 * l onwards. Splits have kLength
// positions.
template <int kDim, int kLength>
__device__ __forceinline__ void join_row(const AttentionStep& step, int slot, int head, int row,
                                         int position, int lane) {
  constexpr int kOwn = kDim / 32;
  constexpr int kAtOnce = kDim > 128 ? 8 : 16;  // splits that registers have room for
  const AttentionArgs& args = step.args;
  const Splits& splits = step.splits;
  const int dim = args.kv.value_dim;
  const int begin = first_seen(position, args.window) / kLength;
  const int end = min(position / kLength + 1, splits.most);
  const int64_t first = (static_cast<int64_t>(slot) * args.heads + head) * splits.most;
  const bool is_in = kOwn * lane < dim;
  const float* values = splits.values + (first + begin) * dim + (is_in ? kOwn * lane : 0);
  const float* stats = splits.stats + 2 * first;
  float largest = minus_infinity();
  float sum = 0;
  float total[kOwn] = {};
#pragma unroll 1
  for (int chunk = begin; chunk < end; chunk += kAtOnce) {
    const int count = min(kAtOnce, end - chunk);
    float own[2];  // the largest logit and the sum of a split
    load_part(stats + 2 * (chunk + min(lane, count - 1)), own);
    float parts[kAtOnce][kOwn];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      load_part(values, parts[i]);
      if (i + 1 < count) values += dim;  // else the last again
    }
    values += dim;
    if (lane >= count) own[0] = minus_infinity();
    float upto = own[0];  // the largest of the chunk's splits up to this lane's
#pragma unroll
    for (int distance = 1; distance < kAtOnce; distance *= 2) {
      const float other = __shfl_up_sync(kAllLanes, upto, distance);
      if (lane >= distance) upto = fmaxf(upto, other);
    }
    float before = __shfl_up_sync(kAllLanes, upto, 1);
    before = lane == 0 ? largest : fmaxf(before, largest);
    upto = fmaxf(upto, largest);
    const Share share{share_of(before, upto), share_of(own[0], upto)};
    largest = __shfl_sync(kAllLanes, upto, kAtOnce - 1);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (i >= count) break;
      const Share of{__shfl_sync(kAllLanes, share.old_part, i),
                     __shfl_sync(kAllLanes, share.new_part, i)};
      sum = join(sum, __shfl_sync(kAllLanes, own[1], i), of);
#pragma unroll
      for (int e = 0; e < kOwn; ++e)
        total[e] = join(total[e], parts[i][e], of);
    }
  }
  if (!is_in) return;
  const float factor = last_factor(largest, sum, args.sinks, head);
  float* to = args.out + row * args.out_stride + static_cast<int64_t>(head) * dim + kOwn * lane;
#pragma unroll
  for (int e = 0; e < kOwn; e += 2) {
    *reinterpret_cast<float2*>(to + e) =
        make_float2(__fmul_rn(total[e], factor), __fmul_rn(total[e + 1], factor));
  }
}

}  // namespace ingot::cuda

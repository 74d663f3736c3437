// SPDX-License-Identifier: Apache-2.0
// Joining a row's splits inside the kernel that made them, by the thread block that is done last:
// the same numbers as attention_join.cu gives.
#pragma once

#include "kernels/cuda/attention_device.cuh"
#include "kernels/cuda/attention_paths.h"
#include "kernels/cuda/last_block.cuh"

namespace ingot::cuda {

// One row and head by one warp: lane l has elements kDim / 32 * l onwards.
template <int kDim>
__device__ inline void join_row(const AttentionStep& step, int slot, int head, int row,
                                int position, int lane) {
  constexpr int kOwn = kDim / 32;
  const AttentionArgs& args = step.args;
  const Splits& splits = step.splits;
  const int dim = args.kv.value_dim;
  const int begin = first_seen(position, args.window) / splits.length;
  const int end = min(position / splits.length + 1, splits.most);
  const int64_t first = (static_cast<int64_t>(slot) * args.heads + head) * splits.most;
  const bool is_in = kOwn * lane < dim;
  float largest = minus_infinity();
  float sum = 0;
  float values[kOwn] = {};
  for (int chunk = begin; chunk < end; chunk += 32) {
    const int count = min(32, end - chunk);
    float2 own = make_float2(minus_infinity(), 0);  // the largest logit and the sum of a split
    if (lane < count)
      own = __ldcg(reinterpret_cast<const float2*>(splits.stats) + first + chunk + lane);
    float upto = own.x;  // the largest of the chunk's splits up to this lane's
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const float other = __shfl_up_sync(kAllLanes, upto, distance);
      if (lane >= distance) upto = fmaxf(upto, other);
    }
    float before = __shfl_up_sync(kAllLanes, upto, 1);
    before = lane == 0 ? largest : fmaxf(before, largest);
    upto = fmaxf(upto, largest);
    const Share share{share_of(before, upto), share_of(own.x, upto)};
    largest = __shfl_sync(kAllLanes, upto, 31);
    const float* parts = splits.values + (first + chunk) * dim + kOwn * lane;
#pragma unroll 8
    for (int i = 0; i < count; ++i) {
      const Share of{__shfl_sync(kAllLanes, share.old_part, i),
                     __shfl_sync(kAllLanes, share.new_part, i)};
      sum = join(sum, __shfl_sync(kAllLanes, own.y, i), of);
      if (!is_in) continue;
#pragma unroll
      for (int e = 0; e < kOwn; e += 2) {
        const float2 two =
            __ldcg(reinterpret_cast<const float2*>(parts + static_cast<int64_t>(i) * dim + e));
        values[e] = join(values[e], two.x, of);
        values[e + 1] = join(values[e + 1], two.y, of);
      }
    }
  }
  if (!is_in) return;
  const float factor = last_factor(largest, sum, args.sinks, head);
  float* to = args.out + row * args.out_stride + static_cast<int64_t>(head) * dim + kOwn * lane;
#pragma unroll
  for (int e = 0; e < kOwn; e += 2) {
    *reinterpret_cast<float2*>(to + e) =
        make_float2(__fmul_rn(values[e], factor), __fmul_rn(values[e + 1], factor));
  }
}

}  // namespace ingot::cuda

// SPDX-License-Identifier: Apache-2.0
// Joins the partial results of a row's splits in ascending order. A thread block takes one row and
// head and 128 elements, a thread one of them. What each split's part is multiplied by is worked
// out for 128 splits at a time, a thread a split, from the largest logit up to it: the same numbers
// as joining one after the other, without its chain of exponentials.
#include "kernels/cuda/attention_device.cuh"
#include "kernels/cuda/attention_paths.h"
#include "kernels/cuda/launch.cuh"

namespace ingot::cuda {
namespace {

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads)
    join_splits(const __grid_constant__ AttentionStep step) {
  __shared__ float warp_largest[kThreads / 32];
  __shared__ Share shares[kThreads];
  __shared__ float sums[kThreads];
  let_next_begin();
  wait_for_inputs();
  const AttentionArgs& args = step.args;
  const DeviceSequences& sequences = args.sequences;
  const Splits& splits = step.splits;
  const int slot = static_cast<int>(blockIdx.x);
  const int head = static_cast<int>(blockIdx.y);
  const int sequence =
      splits.is_slot_by_sequence ? slot / kDecodeTokens : sequences.row_sequence[slot];
  if (sequence < 0 || sequence >= sequences.sequences) return;
  const int tokens = sequences.tokens[sequence];
  const int first_row = sequences.first_row[sequence];
  const int token = splits.is_slot_by_sequence ? slot % kDecodeTokens : slot - first_row;
  if (tokens < step.tokens.least || tokens > step.tokens.most || token < 0 || token >= tokens)
    return;
  const int position = sequences.first_position[sequence] + token;
  const int begin = first_seen(position, args.window) / splits.length;
  const int end = min(position / splits.length + 1, splits.most);

  const int thread = static_cast<int>(threadIdx.x);
  const int dim = args.kv.value_dim;
  const int element = static_cast<int>(blockIdx.z) * kThreads + thread;
  const int64_t first = (static_cast<int64_t>(slot) * args.heads + head) * splits.most;
  float largest = minus_infinity();  // of all splits so far
  float sum = 0;
  float value = 0;
  for (int chunk = begin; chunk < end; chunk += kThreads) {
    const int count = min(kThreads, end - chunk);
    float own = minus_infinity();
    float own_sum = 0;
    if (thread < count) {
      own = splits.stats[(first + chunk + thread) * 2];
      own_sum = splits.stats[(first + chunk + thread) * 2 + 1];
    }
    float upto = own;  // the largest of the chunk's splits up to this thread's
#pragma unroll
    for (int step_size = 1; step_size < 32; step_size *= 2) {
      const float other = __shfl_up_sync(kAllLanes, upto, step_size);
      if (thread % 32 >= step_size) upto = fmaxf(upto, other);
    }
    float before = __shfl_up_sync(kAllLanes, upto, 1);  // up to the one before
    if (thread % 32 == 0) before = minus_infinity();
    if (thread % 32 == 31) warp_largest[thread / 32] = upto;
    __syncthreads();
    for (int warp = 0; warp < thread / 32; ++warp) {
      upto = fmaxf(upto, warp_largest[warp]);
      before = fmaxf(before, warp_largest[warp]);
    }
    upto = fmaxf(upto, largest);
    before = fmaxf(before, largest);
    for (int warp = 0; warp < kThreads / 32; ++warp)
      largest = fmaxf(largest, warp_largest[warp]);
    shares[thread] = {share_of(before, upto), share_of(own, upto)};
    sums[thread] = own_sum;
    __syncthreads();
    if (element < dim) {
      const float* parts = splits.values + (first + chunk) * dim + element;
#pragma unroll 8
      for (int i = 0; i < count; ++i) {
        const Share share = shares[i];
        sum = join(sum, sums[i], share);
        value = join(value, parts[static_cast<int64_t>(i) * dim], share);
      }
    }
    __syncthreads();
  }
  if (element >= dim) return;
  args.out[(first_row + token) * args.out_stride + static_cast<int64_t>(head) * dim + element] =
      __fmul_rn(value, last_factor(largest, sum, args.sinks, head));
}

}  // namespace

void launch_join(const AttentionStep& step, Stream stream) {
  const dim3 grid(static_cast<unsigned>(step.splits.slots), static_cast<unsigned>(step.args.heads),
                  static_cast<unsigned>((step.args.kv.value_dim + kThreads - 1) / kThreads));
  launch_early(join_splits, {grid, kThreads}, stream, step);
}

}  // namespace ingot::cuda

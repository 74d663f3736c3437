// SPDX-License-Identifier: Apache-2.0
// What a thread block does together when it searches a row: finds a bound on the k-th largest,
// lists keys above it, sorts them, and adds up weights in order. All threads call every function,
// with the same arguments, and get the same results; none depends on the order in which threads
// run.
#pragma once

#include <cstdint>

#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/sampling_row.cuh"

namespace ingot::cuda {

constexpr int kSearchThreads = 512;
constexpr int kSearchWarps = kSearchThreads / 32;
constexpr int kMostListed = 4096;  // keys that can be sorted
constexpr int kSearchBuckets = 2048;

// The one thread block's shared memory.
struct SearchMemory {
  union {
    RowKey list[kMostListed];
    struct {
      unsigned long long sums[kSearchBuckets];  // of weights, in units of 2^-40
      int counts[kSearchBuckets];
    } buckets;
  };
  int digits[256];
  double sums[kSearchWarps];
  int ints[32];
  RowKey keys[32];
  int listed;
  uint32_t chosen;
  int rank;
  double before;
};

// The k-th largest of `values`, 1 <= k <= count, eight bits at a time from the top.
__device__ inline float find_kth_largest(const float* values, int count, int k,
                                         SearchMemory& memory) {
  const int thread = static_cast<int>(threadIdx.x);
  uint32_t found = 0;
  uint32_t known = 0;  // which bits of it are
  for (int shift = 24; shift >= 0; shift -= 8) {
    __syncthreads();
    if (thread < 256) memory.digits[thread] = 0;
    __syncthreads();
    for (int i = thread; i < count; i += kSearchThreads) {
      const uint32_t order = order_of(values[i]);
      if ((order & known) == found) atomicAdd(&memory.digits[(order >> shift) & 255u], 1);
    }
    __syncthreads();
    if (thread < 32) {
      // Lane l has the eight digits down from 255 - 8 l.
      int own = 0;
      for (int i = 0; i < 8; ++i)
        own += memory.digits[255 - 8 * thread - i];
      int upto = own;
      for (int offset = 1; offset < 32; offset *= 2) {
        const int other = __shfl_up_sync(0xFFFFFFFF, upto, offset);
        if (thread >= offset) upto += other;
      }
      int above = upto - own;
      if (above < k && k <= upto) {
        int digit = 255 - 8 * thread;
        while (above + memory.digits[digit] < k)
          above += memory.digits[digit--];
        memory.chosen = static_cast<uint32_t>(digit) << shift;
        memory.rank = k - above;
      }
    }
    __syncthreads();
    found |= memory.chosen;
    k = memory.rank;
    known |= 255u << shift;
  }
  return from_order(found);
}

// Lists the keys of the logits that are wanted, in any order; how many there are, which may be more
// than fit. A block of 64 is looked at where `may_have` says so of its largest.
template <class MayHave, class Wants>
__device__ int list_keys(const RowView& row, const float* block_tops, MayHave may_have, Wants wants,
                         SearchMemory& memory) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  __syncthreads();
  if (threadIdx.x == 0) memory.listed = 0;
  __syncthreads();
  for (int base = warp * 32; base < row.blocks(); base += kSearchThreads) {
    const int block = base + lane;
    uint32_t todo = __ballot_sync(0xFFFFFFFF, block < row.blocks() && may_have(block_tops[block]));
    for (; todo != 0; todo &= todo - 1) {
      const int first = (base + __ffs(static_cast<int>(todo)) - 1) * kRowBlock;
      for (int half = 0; half < 2; ++half) {
        const int id = first + half * 32 + lane;
        const float x = id < row.vocab ? row.at(id) : 0.0f;
        const bool is_taken = id < row.vocab && wants(x);
        const uint32_t taken = __ballot_sync(0xFFFFFFFF, is_taken);
        if (taken == 0) continue;
        int at = 0;
        if (lane == 0) at = atomicAdd(&memory.listed, __popc(taken));
        at = __shfl_sync(0xFFFFFFFF, at, 0) + __popc(taken & ((1u << lane) - 1));
        if (is_taken && at < kMostListed) memory.list[at] = key_of(x, id);
      }
    }
  }
  __syncthreads();
  return memory.listed;
}

// Bitonic, in place; largest first.
__device__ inline void sort_list(int count, SearchMemory& memory) {
  int size = 1;
  while (size < count)
    size *= 2;
  for (int i = count + static_cast<int>(threadIdx.x); i < size; i += kSearchThreads)
    memory.list[i] = 0;
  __syncthreads();
  for (int run = 2; run <= size; run *= 2) {
    for (int distance = run / 2; distance > 0; distance /= 2) {
      for (int i = static_cast<int>(threadIdx.x); i < size / 2; i += kSearchThreads) {
        const int low = 2 * (i & ~(distance - 1)) + (i & (distance - 1));
        const RowKey a = memory.list[low];
        const RowKey b = memory.list[low + distance];
        if ((a < b) == ((low & run) == 0)) {
          memory.list[low] = b;
          memory.list[low + distance] = a;
        }
      }
      __syncthreads();
    }
  }
}

// Weights are added up in runs, one a thread.
struct WeightSum {
  double before;  // of those of the threads before
  double total;
};

__device__ inline WeightSum sum_of_threads(double own, SearchMemory& memory) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  double upto = own;
  for (int offset = 1; offset < 32; offset *= 2) {
    const double other = __shfl_up_sync(0xFFFFFFFF, upto, offset);
    if (lane >= offset) upto += other;
  }
  double before = __shfl_up_sync(0xFFFFFFFF, upto, 1);
  if (lane == 0) before = 0;
  __syncthreads();
  if (lane == 31) memory.sums[warp] = upto;
  __syncthreads();
  WeightSum sum{0, 0};
  for (int i = 0; i < kSearchWarps; ++i) {
    if (i == warp) sum.before = sum.total;
    sum.total += memory.sums[i];
  }
  sum.before += before;
  return sum;
}

// Where in a list of weights a sum is reached: at one above 0.
struct Reached {
  int index;      // count: nowhere
  double before;  // the sum of those before it
};

template <class Weight>
__device__ double sum_weights(int count, Weight weight, SearchMemory& memory) {
  const int each = (count + kSearchThreads - 1) / kSearchThreads;
  const int begin = static_cast<int>(threadIdx.x) * each;
  double own = 0;
  for (int i = begin; i < min(begin + each, count); ++i)
    own += weight(i);
  return sum_of_threads(own, memory).total;
}

template <class Weight, class IsReached>
__device__ Reached find_sum(int count, Weight weight, IsReached is_reached, SearchMemory& memory) {
  const int each = (count + kSearchThreads - 1) / kSearchThreads;
  const int begin = static_cast<int>(threadIdx.x) * each;
  const int end = min(begin + each, count);
  double own = 0;
  for (int i = begin; i < end; ++i)
    own += weight(i);
  double sum = sum_of_threads(own, memory).before;
  int found = count;
  for (int i = begin; i < end; ++i) {
    const double own_weight = weight(i);
    const double next = sum + own_weight;
    // Sums round differently from thread to thread: what has no weight must not be found for that.
    if (own_weight > 0 && is_reached(next)) {
      found = i;
      break;
    }
    sum = next;
  }
  const int first = block_reduce(found, Min{}, memory.ints);
  __syncthreads();
  if (first < count && found == first) memory.before = sum;
  __syncthreads();
  return {first, memory.before};
}

}  // namespace ingot::cuda

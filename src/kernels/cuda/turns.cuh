// SPDX-License-Identifier: Apache-2.0
// Which pieces of a launch's work its blocks of threads take, round after round: the first few by
// the block's number, so that their weights can be sent for before anything else is known, and from
// then on whoever is done takes the next. Processors are served unequally by the memory: with equal
// shares of the work the last was done a sixth later than the mean.
#pragma once

#include <climits>
#include <cstdint>

#include "kernels/cuda/counted_barrier.cuh"

namespace ingot::cuda {

// The blocks of threads that share some work, and which of them this is.
struct BlockShare {
  int index;
  int blocks;
};
__device__ inline BlockShare share_of_grid() {
  return {static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x)};
}

// kDraws: else all is by number, and what asks for turns has no waits in it.
template <bool kDraws>
class Turns {
  static constexpr int kSlots = 16;

 public:
  struct Drawn {  // in shared memory
    int of[kSlots];
    uint64_t is_drawn[kSlots];
  };

  // In a round at() is asked for that round and the next `ahead`, at most 6; a barrier of the block
  // ends each. `counter` is zero, and zero again afterwards; null, or there is little work: all is
  // by number. All threads, before anything else.
  __device__ Turns(const BlockShare& share, int count, int ahead, uint32_t* counter, Drawn& drawn)
      : share_(share), count_(count), fixed_(ahead + 1), counter_(counter), drawn_(drawn) {
    if (!kDraws || counter == nullptr || gridDim.y > 1 || count <= fixed_ * share.blocks)
      fixed_ = INT_MAX;
    if constexpr (!kDraws) return;
    if (threadIdx.x == 0 && fixed_ != INT_MAX) {
      for (uint64_t& barrier : drawn_.is_drawn)
        open_counted(barrier, 1);
    }
    __syncthreads();
  }

  __device__ int count() const { return count_; }
  // The piece of a round; count() or more: there is none.
  __device__ int at(int round) const {
    if (!kDraws || round < fixed_) return share_.index + round * share_.blocks;
    const int number = round - fixed_;
    wait_counted(drawn_.is_drawn[number % kSlots], number / kSlots);
    return drawn_.of[number % kSlots];
  }

  // Draws a piece, and tells what was drawn in the round before: an answer takes microseconds where
  // the memory is busy.
  __device__ void begin_round(int round) {
    if (!kDraws || threadIdx.x != 0 || fixed_ == INT_MAX) return;
    if (round > 0) {
      if (next_ < count_) {
        next_ = fixed_ * share_.blocks + static_cast<int>(ticket_);
        // Every block draws one ticket too many, and this is the last of all.
        if (next_ == count_ + share_.blocks - 1) *counter_ = 0;
      }
      const int number = round - 1;
      drawn_.of[number % kSlots] = next_;
      arrive_counted(drawn_.is_drawn[number % kSlots]);
    }
    // atomicAdd() would look for others of its warp and wait for the answer at once.
    if (next_ < count_) {
      asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;"
                   : "=r"(ticket_)
                   : "l"(__cvta_generic_to_global(counter_))
                   : "memory");
    }
  }

 private:
  BlockShare share_;
  int count_;
  int fixed_;  // rounds by number
  uint32_t* counter_;
  Drawn& drawn_;
  uint32_t ticket_ = 0;
  int next_ = 0;  // thread 0's: what it drew last
};

}  // namespace ingot::cuda

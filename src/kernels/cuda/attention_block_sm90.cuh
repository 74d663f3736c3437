// SPDX-License-Identifier: Apache-2.0
// What the two halves of a thread block of attention_prefill_sm90.cu, those who fetch and those who
// compute, agree on: its queries and positions, and where tiles and barriers lie in shared memory.
#pragma once

#include <cuda.h>

#include "kernels/cuda/attention_device.cuh"
#include "kernels/cuda/attention_paths.h"

namespace ingot::cuda::sm90 {

inline constexpr int kGroup = 128;    // threads of a warpgroup
inline constexpr int kRows = 128;     // queries
inline constexpr int kOwnRows = 64;   // of a warpgroup
inline constexpr int kComputing = 2;  // warpgroups
inline constexpr int kThreads = (1 + kComputing) * kGroup;
inline constexpr int kFetchRegisters = 40;  // of a thread; together all that there are
inline constexpr int kComputeRegisters = 232;
inline constexpr int kPositions = 128;  // of a tile
inline constexpr int kStages = 2;
inline constexpr int kLine = 128;  // bytes of a row in shared memory: 64 elements

// __syncthreads() is barrier 0; each warpgroup that computes has one of its own and one for its
// turn, the one that fetches has one.
inline constexpr int kOwnBarrier = 1;
inline constexpr int kTurnBarrier = kOwnBarrier + kComputing;
inline constexpr int kFetchBarrier = kTurnBarrier + kComputing;

__device__ __forceinline__ void sync_threads_of(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
// As one of those who sync, without waiting.
__device__ __forceinline__ void arrive_for_threads_of(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// In shared memory, in bytes.
template <int kDim>
struct Shape {
  static constexpr int kPanels = kDim / 64;  // of 64 elements, one after the other
  static constexpr int kPanelBytes = kPositions * kLine;
  static constexpr int kTileBytes = kPanels * kPanelBytes;
  static constexpr int kQueryBytes = kPanels * kOwnRows * kLine;  // of a warpgroup
  static constexpr int kQuery = 0;
  static constexpr int kKeys = kQuery + kComputing * kQueryBytes;
  static constexpr int kValues = kKeys + kStages * kTileBytes;
  static constexpr int kBarriers = kValues + kStages * kTileBytes;
  // Keys there, keys used, values there, values used; of each stage.
  static constexpr int kBytes = kBarriers + 4 * kStages * 8 + 1024;  // to begin at a multiple
};

template <int kDim>
struct Places {
  uint32_t base;  // of shared memory, a multiple of 1024

  __device__ uint32_t keys(int stage) const {
    return base + static_cast<uint32_t>(Shape<kDim>::kKeys + stage * Shape<kDim>::kTileBytes);
  }
  __device__ uint32_t values(int stage) const {
    return base + static_cast<uint32_t>(Shape<kDim>::kValues + stage * Shape<kDim>::kTileBytes);
  }
  __device__ uint32_t keys_there(int stage) const { return barrier(0, stage); }
  __device__ uint32_t keys_used(int stage) const { return barrier(1, stage); }
  __device__ uint32_t values_there(int stage) const { return barrier(2, stage); }
  __device__ uint32_t values_used(int stage) const { return barrier(3, stage); }

 private:
  __device__ uint32_t barrier(int kind, int stage) const {
    return base + static_cast<uint32_t>(Shape<kDim>::kBarriers + (kind * kStages + stage) * 8);
  }
};

struct PrefillStep {
  AttentionStep step;
  bool has_maps;  // else all rows are copied piece by piece
  CUtensorMap keys;
  CUtensorMap values;
};

// A thread block's work; none where it has no rows.
struct BlockWork {
  int head;
  int kv_head;
  const int32_t* pages;  // of its sequence
  int rows;
  int first_row;
  int first_position;
  int begin;  // positions that some row sees
  int end;
  int first_tile;
  int tiles;
};
__device__ __forceinline__ BlockWork block_work(const AttentionStep& step) {
  const AttentionArgs& args = step.args;
  const DeviceSequences& sequences = args.sequences;
  const int sequence = static_cast<int>(blockIdx.z);
  const int tokens = sequences.tokens[sequence];
  const int first_row = sequences.first_row[sequence];
  const int first_position = sequences.first_position[sequence];
  // The last rows first: they see the most.
  const int first_token = ((tokens + kRows - 1) / kRows - 1 - static_cast<int>(blockIdx.y)) * kRows;
  BlockWork work{};
  if (tokens < step.tokens.least || tokens > step.tokens.most || first_token < 0) return work;
  work.head = static_cast<int>(blockIdx.x);
  work.kv_head = work.head / (args.heads / args.kv.kv_heads);
  work.pages = sequences.pages + sequence * sequences.table_stride;
  work.rows = min(kRows, tokens - first_token);
  work.first_row = first_row + first_token;
  work.first_position = first_position + first_token;
  work.begin = first_seen(work.first_position, args.window);
  work.end = work.first_position + work.rows;
  work.first_tile = work.begin / kPositions;
  work.tiles = (work.end + kPositions - 1) / kPositions - work.first_tile;
  return work;
}

}  // namespace ingot::cuda::sm90

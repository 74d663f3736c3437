// SPDX-License-Identifier: Apache-2.0
// What linear_rows_sm90.cuh's kernel is told, and how a block of threads is laid out: 128 rows of a
// weight by 16 to 128 tokens, in steps of 128 bytes of columns. Weights and inputs of a step lie in
// a stage of shared memory as the tensor cores read them, several stages ahead of them.
#pragma once

#include <cuda.h>

#include "kernels/cuda/linear_tiles.cuh"
#include "kernels/cuda/tensor_map.h"

namespace ingot::cuda {

inline constexpr int kTaskRows = 128;  // of a block of threads
inline constexpr int kTaskShares = 4;  // of the columns, at most: blocks of a cluster
inline constexpr int kTaskGroups = 2;  // warpgroups, 64 rows each
inline constexpr int kTaskComputing = 128 * kTaskGroups;  // threads
inline constexpr int kTaskThreads = kTaskComputing + 32;  // and a warp that fetches

// What a cluster has: so many tiles of rows by so many tiles of tokens, and each by so many shares
// of the columns, a block of threads. Shares' ranks are neighbours, then those of tiles of tokens.
// Blocks of the same rows fetch a part of the weights each, for all of them, and blocks of the same
// tokens a part of the inputs: the second cache would not give every block all of its own.
struct RowsCluster {
  int32_t row_tiles;
  int32_t token_tiles;
  int32_t shares;

  __host__ __device__ int size() const { return row_tiles * token_tiles * shares; }
};

struct RowsTask {
  CUtensorMap weights[kMostParts];  // in boxes of weight_box_rows()
  CUtensorMap inputs;               // and of a block's tokens / cluster.row_tiles
  LinearParts parts;
  FloatInput x;
  RowsCluster cluster;
};

struct RowsGrid {
  int tokens;       // of a block of threads: 16, 32, 64 or 128
  int token_tiles;  // of `tokens`
  int row_tiles;    // of kTaskRows
  RowsCluster cluster;
};

// Blocks of threads that a processor has room for: two, so that rows of any number keep all
// processors busy, and the next kernel's weights are on their way early. Sums of e4m3 are kept
// twice, which 128 tokens have no registers for.
constexpr int task_blocks(bool is_e4m3, int tokens) {
  return is_e4m3 && tokens == 128 ? 1 : 2;
}

template <class Facts, int kTokens>
struct RowsShape {
  static constexpr int kBlocks = task_blocks(Facts::kIsE4m3, kTokens);
  static constexpr int kWeightBytes = kTaskRows * kBoxWidth;
  static constexpr int kInputBytes = kTokens * kBoxWidth;
  static constexpr int kStageBytes = kWeightBytes + kInputBytes;
  static constexpr int kUnit = 1024;  // that boxes begin at multiples of
  static_assert(kStageBytes % kUnit == 0 && kWeightBytes % kUnit == 0);
  static constexpr int kStages = ((kBlocks == 1 ? 200 : 110) << 10) / kStageBytes;
  static_assert(kStages >= 3);
  static constexpr int kSums = kTokens / 2;    // of a thread
  static constexpr int kLine = kTaskRows + 4;  // floats of a token's sums: tokens at other banks
  static_assert(kTokens * kLine * 4 <= kStages * kStageBytes);
  static constexpr int kBytes = kUnit + kStages * kStageBytes;
};

// That tell a block that they have used a stage which it filled for so many blocks: its own
// threads, and a lane of every warp of the others.
__host__ __device__ constexpr int stage_users(int blocks) {
  return kTaskComputing + (blocks - 1) * (kTaskComputing / 32);
}

// Where a block of threads is.
struct RowsPlace {
  int part;
  int first_row;  // of the part; of gate and of up where these go together
  int first_token;
  int tokens;      // fewer in the last tile
  int first_step;  // this share's
  int steps;
  int row_tile;  // of the cluster
  int token_tile;
  int share;
};

// A block's shared memory beside its stages.
template <class Facts, int kTokens>
struct RowsMemory {
  static constexpr int kStages = RowsShape<Facts, kTokens>::kStages;
  uint64_t full[kStages];
  uint64_t used[kStages];
  RowsPlace place;  // here, as sums take all registers
  alignas(16) float span_scales[Facts::kHasSpans ? kStages : 1][kTokens];
  // What outputs are made with.
  alignas(16) float row_scales[kTaskRows];
  alignas(16) float row_sums[kTaskRows];
  alignas(16) float biases[kTaskRows];
  float token_scales[kTokens];
  float shifts[kTokens];
};

__device__ inline int rank_of(const RowsCluster& cluster, int row_tile, int token_tile, int share) {
  return (row_tile * cluster.token_tiles + token_tile) * cluster.shares + share;
}

// The place of a row of a block of threads.
template <class Facts>
__device__ inline RowPlace row_at(const RowsPlace& place, int own) {
  constexpr int kHalf = kTaskRows / 2;
  if constexpr (Facts::kIsGated) return {own / kHalf, place.first_row + own % kHalf};
  return {place.part, place.first_row + own};
}
// Rows of weights that come at once: a block fetches a part of them for all that have other tokens.
// Those of gate and of up come apart.
__host__ __device__ inline int weight_box_rows(const LinearParts& parts,
                                               const RowsCluster& cluster) {
  const int parts_of_tile = parts.gating.is_on ? 2 : 1;
  return kTaskRows / (cluster.token_tiles > parts_of_tile ? cluster.token_tiles : parts_of_tile);
}

// Stage after stage, round after round.
template <int kStages>
struct RingPlace {
  int stage = 0;
  uint32_t parity = 0;

  __device__ void advance() {
    if (++stage < kStages) return;
    stage = 0;
    parity ^= 1u;
  }
};

// By the type of the weights, one file each.
void launch_half_tiles(ElementType type, const RowsTask& task, const RowsGrid& grid, Stream stream);
void launch_e4m3_tiles(const RowsTask& task, const RowsGrid& grid, Stream stream);
void launch_int8_tiles(const RowsTask& task, const RowsGrid& grid, Stream stream);

}  // namespace ingot::cuda

// SPDX-License-Identifier: Apache-2.0
// What linear_rows_sm90.cuh's kernel is told, and how a block of threads is laid out: 128 rows of a
// weight by 16 to 128 tokens, in steps of 128 bytes of columns. Weights and inputs of a step lie in
// a stage of shared memory as the tensor cores read them, several stages ahead of them.
#pragma once

#include <cuda.h>

#include "kernels/cuda/linear.h"
#include "kernels/cuda/tensor_map.h"

namespace ingot::cuda {

inline constexpr int kTaskRows = 128;  // of a block of threads
inline constexpr int kTaskShares = 4;  // of the columns, at most: blocks of a cluster
inline constexpr int kTaskGroups = 2;  // warpgroups, 64 rows each
inline constexpr int kTaskComputing = 128 * kTaskGroups;  // threads
inline constexpr int kTaskThreads = kTaskComputing + 32;  // and a warp that fetches

struct RowsTask {
  CUtensorMap weights[kMostParts];
  CUtensorMap inputs;
  LinearParts parts;
  FloatInput x;
};

struct RowsGrid {
  int tokens;            // of a block of threads: 16, 32, 64 or 128
  unsigned shares;       // of the columns
  unsigned token_tiles;  // of `tokens`
  unsigned row_tiles;    // of kTaskRows
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

// A block's shared memory beside its stages.
template <class Facts, int kTokens>
struct RowsMemory {
  static constexpr int kStages = RowsShape<Facts, kTokens>::kStages;
  uint64_t full[kStages];
  uint64_t used[kStages];
  alignas(16) float span_scales[Facts::kHasSpans ? kStages : 1][kTokens];
  // What outputs are made with.
  alignas(16) float row_scales[kTaskRows];
  alignas(16) float row_sums[kTaskRows];
  alignas(16) float biases[kTaskRows];
  float token_scales[kTokens];
  float shifts[kTokens];
};

// Where a block of threads is.
struct RowsPlace {
  int part;
  int first_row;  // of the part
  int first_token;
  int tokens;      // fewer in the last tile
  int first_step;  // this share's
  int steps;
};

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

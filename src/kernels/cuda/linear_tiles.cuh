// SPDX-License-Identifier: Apache-2.0
// What the linear kernels of tensor cores do alike: finding the weight that a tile of rows is of,
// and adding the sums of a block's warps, in the order of warps, into the outputs.
#pragma once

#include "kernels/cuda/gating.cuh"
#include "kernels/cuda/linear.h"

namespace ingot::cuda {

inline constexpr int kRowsOfTile = 16;

// What a kernel is compiled for, which is given as a class of facts, once more for gate and up that
// go together (Gating). kCanGate: whether there is such a kernel.
template <bool kCan>
struct Ungated {
  static constexpr bool kCanGate = kCan;
  static constexpr bool kIsGated = false;
};
template <class Facts>
struct Gated : Facts {
  static constexpr bool kCanGate = false;  // is done
  static constexpr bool kIsGated = true;
};

__host__ __device__ inline int tiles_of(int rows, int rows_each) {
  return (rows + rows_each - 1) / rows_each;
}
__host__ __device__ inline int tiles_of(const LinearParts& parts, int rows_each) {
  if (parts.gating.is_on) return tiles_of(parts.part[0].rows, rows_each / 2);
  int tiles = 0;
  for (int i = 0; i < parts.count; ++i)
    tiles += tiles_of(parts.part[i].rows, rows_each);
  return tiles;
}

// Panels stay whole.
__host__ __device__ inline int panels_of(const LinearParts& parts) {
  return parts.gating.is_on ? 2 * tiles_of(parts.part[0].rows, kRowsOfTile)
                            : tiles_of(parts, kRowsOfTile);
}

struct TilePlace {
  int part;
  int tile;  // of the part
};
// kIsGated: as parts.gating says; kernels that can do both are compiled for both.
template <bool kIsGated = false>
__device__ inline TilePlace find_tile(const LinearParts& parts, int tile, int rows_each) {
  if constexpr (kIsGated) return {0, tile};
  int index = 0;
  while (index + 1 < parts.count && tile >= tiles_of(parts.part[index].rows, rows_each)) {
    tile -= tiles_of(parts.part[index].rows, rows_each);
    ++index;
  }
  return {index, tile};
}

struct RowPlace {
  int part;
  int row;  // of the part, or behind its last
};
// Half of a tile is of gate and half of up where these go together.
template <bool kIsGated>
__device__ inline RowPlace find_row(TilePlace place, int row_of_tile, int rows_each) {
  const int half = rows_each / 2;
  if constexpr (kIsGated) return {row_of_tile / half, place.tile * half + row_of_tile % half};
  return {place.part, place.tile * rows_each + row_of_tile};
}

__device__ inline float finish_sum(const LinearParts& parts, RowPlace at, int token, float sum) {
  const LinearPart& part = parts.part[at.part];
  sum *= parts.scale;
  if (parts.shifts != nullptr) sum -= parts.shifts[token] * parts.row_sums[at.part][at.row];
  return part.bias == nullptr ? sum : sum + part.bias[at.row];
}

// The sum of a row of a tile for a token, finished.
__device__ inline void write_output(const LinearParts& parts, TilePlace place, int row_of_tile,
                                    int token, float sum) {
  const LinearPart& part = parts.part[place.part];
  const int row = place.tile * kRowsOfTile + row_of_tile;
  if (row >= part.rows) return;
  part.y[token * part.y_stride + row] = finish_sum(parts, {place.part, row}, token, sum);
}

// The same by lanes that have the sixteen rows of a tile side by side, for one token;
// finish(place of the row).
template <bool kIsGated, class Finish>
__device__ inline void write_tile_row(const LinearParts& parts, TilePlace place, int row_of_tile,
                                      int token, const Finish& finish) {
  const RowPlace at = find_row<kIsGated>(place, row_of_tile, kRowsOfTile);
  const LinearPart& part = parts.part[at.part];
  const bool is_there = at.row < part.rows;
  const float value = is_there ? finish(at) : 0;
  if constexpr (kIsGated) {
    const float up =
        __shfl_xor_sync(0xFFFFu << (threadIdx.x % 32 & kRowsOfTile), value, kRowsOfTile / 2);
    if (is_there && at.part == 0) store_gated(parts, token, at.row, gated(value, up));
  } else if (is_there) {
    part.y[token * part.y_stride + at.row] = value;
  }
}

// Of kWarps warps, each with its own share of the columns; lanes as in mma_int8.cuh.
template <int kTiles, int kWarps, class Sum = float>
struct WarpSums {
  Sum values[kWarps][kTiles * 4][32];

  __device__ void put(const Sum (&total)[kTiles][4]) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int k = 0; k < 4; ++k)
        values[threadIdx.x / 32][tile * 4 + k][lane] = total[tile][k];
    }
  }

  // After a barrier: function(row of the tile, token, sum) for each. Rows run fastest, so that
  // neighbours write neighbours; it is warp `first_warp`'s turn first.
  template <class Function>
  __device__ void each(int first_token, int tokens, int first_warp,
                       const Function& function) const {
    constexpr int kThreads = 32 * kWarps;
    for (int i = (static_cast<int>(threadIdx.x) + kThreads - 32 * first_warp) % kThreads;
         i < kTiles * 128; i += kThreads) {
      const int token = first_token + i / 16;
      if (token >= tokens) continue;
      const int slot = (i / 128) * 4 + (i % 16 / 8) * 2 + i / 16 % 2;
      const int from = i % 8 * 4 + i / 16 % 8 / 2;
      Sum sum = 0;
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp)
        sum += values[warp][slot][from];
      function(i % 16, token, sum);
    }
  }

  __device__ void write(const LinearParts& parts, TilePlace place, int first_token,
                        int tokens) const {
    each(first_token, tokens, 0,
         [&](int row, int token, Sum sum) { write_output(parts, place, row, token, sum); });
  }
};

}  // namespace ingot::cuda

// SPDX-License-Identifier: Apache-2.0
// Weights of int8 in rows (W8A8). A block of threads has 16 rows and up to 8 * kTiles tokens; its
// warps take 128 columns in turn on tensor cores, lanes as in mma_int8.cuh: of every 64 columns
// lane (g, t) has those from 16t on. Sums are whole numbers to the end, so that any order gives the
// same.
#include "kernels/cuda/cp_async.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/linear.h"
#include "kernels/cuda/linear_tiles.cuh"
#include "kernels/cuda/mma_int8.cuh"
#include "kernels/cuda/outputs.cuh"

namespace ingot::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kChunk = 128;  // columns a warp takes at once
constexpr int kPiece = 16;   // that a lane reads at once
constexpr int kPieces = kChunk / (4 * kPiece);
constexpr int kStages = 4;
constexpr int kStageWords = 2 * kPieces * 32;

template <int kTiles>
__global__ void __launch_bounds__(32 * kWarps)
    linear_int8_kernel(const __grid_constant__ LinearParts parts,
                       const __grid_constant__ FloatInput x) {
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int g = lane / 4;
  const int t = lane % 4;
  const TilePlace place = find_tile(parts, blockIdx.y, kRowsOfTile);
  const LinearPart& part = parts.part[place.part];
  const int first_row = place.tile * kRowsOfTile;
  const int first_token = blockIdx.x * 8 * kTiles;
  const int cols = static_cast<int>(parts.cols);
  const int chunks = (cols + kChunk - 1) / kChunk;
  const std::byte* w0 = part.weights + min(first_row + g, part.rows - 1) * part.stride;
  const std::byte* w1 = part.weights + min(first_row + g + 8, part.rows - 1) * part.stride;
  // Every lane fetches what it will read itself: [stage][row, piece][lane] of 16 bytes.
  extern __shared__ uint4 stages[];
  uint4* const own = stages + warp * kStages * kStageWords + lane;
  const auto own_at = static_cast<uint32_t>(__cvta_generic_to_shared(own));
  const auto fetch = [&](int chunk, int stage) {
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      const int col = chunk * kChunk + (i * 4 + t) * kPiece;
      const bool is_in = chunk < chunks && col < cols;
      const int64_t at = is_in ? col : 0;
      const uint32_t to = own_at + (stage * kStageWords + i * 32) * 16;
      copy_async_or_zero(to, w0 + at, is_in);
      copy_async_or_zero(to + kPieces * 32 * 16, w1 + at, is_in);
    }
    close_copies();
  };
#pragma unroll
  for (int i = 0; i < kStages; ++i)
    fetch(warp + i * kWarps, i);
  wait_for_inputs();
  const int8_t* inputs[kTiles];
#pragma unroll
  for (int i = 0; i < kTiles; ++i) {
    const int64_t token = min(first_token + 8 * i + g, x.tokens - 1);
    inputs[i] = static_cast<const int8_t*>(x.values) + token * x.stride;
  }

  int total[kTiles][4] = {};
  int stage = 0;
  for (int chunk = warp; chunk < chunks; chunk += kWarps) {
    wait_for_copies<kStages - 1>();
    uint4 words[2][kPieces];
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      words[0][i] = own[stage * kStageWords + i * 32];
      words[1][i] = own[stage * kStageWords + (kPieces + i) * 32];
    }
    fetch(chunk + kStages * kWarps, stage);
    stage = stage + 1 == kStages ? 0 : stage + 1;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < kPieces; ++i) {
        const int col = chunk * kChunk + (i * 4 + t) * kPiece;
        const uint4 b = col < cols ? *reinterpret_cast<const uint4*>(inputs[tile] + col) : uint4{};
        multiply_32<true>(total[tile], words[0][i].x, words[1][i].x, words[0][i].y, words[1][i].y,
                          b.x, b.y);
        multiply_32<true>(total[tile], words[0][i].z, words[1][i].z, words[0][i].w, words[1][i].w,
                          b.z, b.w);
      }
    }
  }
  let_next_begin();

  __shared__ int sums[kWarps][kTiles * 4][32];
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int k = 0; k < 4; ++k)
      sums[warp][tile * 4 + k][lane] = total[tile][k];
  }
  __syncthreads();
  // Rows run fastest, so that neighbours write neighbours.
  for (int i = threadIdx.x; i < kTiles * 128; i += 32 * kWarps) {
    const int row = first_row + i % 16;
    const int token = first_token + i / 16;
    if (row >= part.rows || token >= x.tokens) continue;
    const int slot = (i / 128) * 4 + (i % 16 / 8) * 2 + i / 16 % 2;
    const int from = i % 8 * 4 + i / 16 % 8 / 2;
    int sum = 0;
#pragma unroll
    for (int k = 0; k < kWarps; ++k)
      sum += sums[k][slot][from];
    const bool has_shifts = parts.shifts != nullptr;
    const OutputScales scales{.row = part.row_scales[row],
                              .token = x.scales[token],
                              .shift = has_shifts ? parts.shifts[token] : 0,
                              .row_sum = has_shifts ? parts.row_sums[place.part][row] : 0,
                              .bias = part.bias == nullptr ? 0 : part.bias[row]};
    part.y[token * part.y_stride + row] = output_of(static_cast<float>(sum), scales);
  }
}

}  // namespace

void linear_int8(const LinearParts& parts, const FloatInput& x, Stream stream) {
  constexpr int kTiles = 4;
  constexpr size_t kShared = size_t{kWarps} * kStages * kStageWords * sizeof(uint4);
  const bool is_one = x.tokens <= 8;
  const unsigned tiles = is_one ? 1 : (x.tokens + 8 * kTiles - 1) / (8 * kTiles);
  launch_early(is_one ? linear_int8_kernel<1> : linear_int8_kernel<kTiles>,
               {dim3(tiles, tiles_of(parts, kRowsOfTile)), 32 * kWarps, kShared}, stream, parts, x);
}

}  // namespace ingot::cuda

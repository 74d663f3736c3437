// SPDX-License-Identifier: Apache-2.0
// Packings of codes by more tokens than linear_panels.cuh takes: codes become f16 in registers,
// once for 32 tokens, and tensor cores multiply them by inputs in f16. A block of threads has eight
// panels, a warp each; weights and inputs of 256 columns at a time are on their way into shared
// memory, the inputs for all warps. Where there are too few panels for the device, columns are
// shared among blocks of threads, and the last one adds their sums, in one order.
#pragma once

#include "kernels/cuda/cp_async.cuh"
#include "kernels/cuda/half_scales.cuh"
#include "kernels/cuda/last_block.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/linear_panels_launch.h"
#include "kernels/cuda/linear_tiles.cuh"
#include "kernels/cuda/mma.cuh"

namespace ingot::cuda {

template <Packing kPacking, int kTokens>
struct DecodedShape {
  using Facts = PackingFacts<kPacking>;
  static constexpr int kThreads = 32 * kDecodedPanels;
  static constexpr auto kBlockBytes = static_cast<int>(Facts::kShape.block);
  // Rows of inputs begin at different banks: lanes of a quarter (or half) warp read two (or four)
  // rows at once.
  static constexpr int kRowBytes = 2 * kBlockColumns + (Facts::kBits == 8 ? 32 : 64);
  static constexpr int kInputBytes = kTokens * kRowBytes;
  static constexpr int kStageBytes = kDecodedPanels * kBlockBytes + kInputBytes;
  static constexpr int kFit = (110 << 10) / kStageBytes;  // so that two blocks of threads do
  static constexpr int kStages = kFit < 2 ? 2 : (kFit > 4 ? 4 : kFit);
};

// A block's products, of 16 rows. kIsFull: it has all eight runs, else `count`.
template <Packing kPacking, bool kIsFull, int kTiles>
__device__ inline void add_decoded(const std::byte* base, const std::byte* inputs, int count,
                                   float (&total)[kTiles][4]) {
  using Shape = DecodedShape<kPacking, kTiles * kTileTokens>;
  using Facts = PackingFacts<kPacking>;
  using Codes = typename Facts::Codes;
  using Scales = std::conditional_t<Facts::kInBlocks, BlockHalves<kPacking>, GroupHalves<kPacking>>;
  constexpr PanelShape kShape = Facts::kShape;
  const int g = threadIdx.x % 32 / 4;
  const int t = threadIdx.x % 4;
  Scales scales;
  scales.load(base, g, t);
#pragma unroll
  for (int run = 0; run < 8; ++run) {
    if (!kIsFull && run >= count) break;  // the same for all lanes
    Codes codes[2];
    load_two_rows<Codes, Facts::kBits>(base + kShape.scales + run * kShape.run, g, t, codes);
    RunScales own;
    scales.of(run, g, t, own);
    uint32_t a[2][4];
    decode_run<kPacking>(codes, own, t, a);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const std::byte* from = inputs + tile * kTileTokens * Shape::kRowBytes + run * 64;
      uint32_t b[4];
      if constexpr (Facts::kBits == 8) {  // columns 4t and 16 + 4t
        const auto first = load_as<uint2>(from + t * 8);
        const auto second = load_as<uint2>(from + 32 + t * 8);
        b[0] = first.x, b[1] = first.y, b[2] = second.x, b[3] = second.y;
      } else {
        const auto all = load_as<uint4>(from + t * 16);
        b[0] = all.x, b[1] = all.y, b[2] = all.z, b[3] = all.w;
      }
      mma_16x8x16<__half>(total[tile], a[0], b[0], b[1]);
      mma_16x8x16<__half>(total[tile], a[1], b[2], b[3]);
    }
  }
}

template <Packing kPacking, int kTokens>
__global__ void __launch_bounds__(DecodedShape<kPacking, kTokens>::kThreads, 2)
    linear_decoded_kernel(const __grid_constant__ LinearParts parts,
                          const __grid_constant__ FloatInput x) {
  using Shape = DecodedShape<kPacking, kTokens>;
  constexpr PanelShape kShape = PackingFacts<kPacking>::kShape;
  constexpr int kStages = Shape::kStages;
  constexpr int kTiles = kTokens / kTileTokens;
  extern __shared__ uint4 memory[];
  auto* const stages = reinterpret_cast<std::byte*>(memory);
  const int thread = threadIdx.x;
  const int warp = thread / 32;
  const int lane = thread % 32;
  const int g = lane / 4;
  const int t = lane % 4;
  const int runs = static_cast<int>(parts.cols / kRunColumns);
  const int blocks = (runs + 7) / 8;
  const int panels = tiles_of(parts, kRowsOfTile);
  const int first_token = static_cast<int>(blockIdx.x) * kTokens;
  const int shares = static_cast<int>(gridDim.y);
  const int each = (blocks + shares - 1) / shares;
  const int begin = static_cast<int>(blockIdx.y) * each;
  const int end = min(begin + each, blocks);
  const int panel = static_cast<int>(blockIdx.z) * kDecodedPanels + warp;
  const bool has_panel = panel < panels;
  const TilePlace place = has_panel ? find_tile(parts, panel, kRowsOfTile) : TilePlace{};

  const std::byte* const weights =
      parts.part[place.part].weights + place.tile * parts.part[place.part].stride;
  const auto stage_of = [&](int block) { return stages + block % kStages * Shape::kStageBytes; };
  const auto fetch_weights = [&](int block) {
    if (!has_panel || block >= end) return;
    const int count = min(8, runs - block * 8);
    const auto bytes = static_cast<int>(kShape.scales + count * kShape.run);
    const std::byte* from = weights + static_cast<int64_t>(block) * Shape::kBlockBytes;
    const auto to = static_cast<uint32_t>(
        __cvta_generic_to_shared(stage_of(block) + warp * Shape::kBlockBytes));
    for (int i = lane * 16; i < bytes; i += 32 * 16)
      copy_async(to + static_cast<uint32_t>(i), from + i);
  };
  const auto fetch_inputs = [&](int block) {
    if (block >= end) return;
    const auto to = static_cast<uint32_t>(
        __cvta_generic_to_shared(stage_of(block) + kDecodedPanels * Shape::kBlockBytes));
    constexpr int kPieces = kBlockColumns / 8;
#pragma unroll
    for (int i = 0; i < kTokens * kPieces / Shape::kThreads; ++i) {
      const int index = i * Shape::kThreads + thread;
      const int row = index / kPieces;
      const int piece = index % kPieces;
      const int64_t column = static_cast<int64_t>(block) * kBlockColumns + piece * 8;
      const bool is_there = first_token + row < x.tokens && column < x.stride;
      const auto* from = static_cast<const __half*>(x.values) +
                         (is_there ? (first_token + row) * x.stride + column : 0);
      copy_async_or_zero(to + static_cast<uint32_t>(row * Shape::kRowBytes + piece * 16), from,
                         is_there);
    }
  };
  // Weights do not depend on other kernels.
  for (int i = 0; i + 1 < kStages; ++i)
    fetch_weights(begin + i);
  wait_for_inputs();
  for (int i = 0; i + 1 < kStages; ++i) {
    fetch_inputs(begin + i);
    close_copies();
  }

  float total[kTiles][4] = {};
  for (int block = begin; block < end; ++block) {
    wait_for_copies<kStages - 2>();
    __syncthreads();  // everyone's copies are there, and the block before has been read
    fetch_weights(block + kStages - 1);
    fetch_inputs(block + kStages - 1);
    close_copies();
    if (!has_panel) continue;
    const std::byte* base = stage_of(block) + warp * Shape::kBlockBytes;
    const std::byte* inputs =
        stage_of(block) + kDecodedPanels * Shape::kBlockBytes + g * Shape::kRowBytes;
    const int count = runs - block * 8;
    if (count >= 8) {
      add_decoded<kPacking, true>(base, inputs, 8, total);
    } else {
      add_decoded<kPacking, false>(base, inputs, count, total);
    }
  }
  wait_for_copies<0>();
  let_next_begin();

  // Numbers k and k + 2 of a tile are of rows 2g and 2g + 1 and token 2t + k.
  constexpr float kUnit = 1.0f / DecodeFacts<kPacking>::kUnit;
  const int group_rows = kDecodedPanels * kPanelRows;
  float* const partials =
      parts.partials +
      (static_cast<int64_t>(blockIdx.z) * gridDim.x + blockIdx.x) * shares * kTokens * group_rows;
#pragma unroll
  for (int i = 0; i < 2 * kTiles; ++i) {
    const int of_tile = i / 2 * kTileTokens + 2 * t + i % 2;
    const float2 rows = make_float2(total[i / 2][i % 2] * kUnit, total[i / 2][i % 2 + 2] * kUnit);
    if (shares > 1) {  // [share][token][row], all of them
      const int64_t line = static_cast<int64_t>(blockIdx.y) * kTokens + of_tile;
      *reinterpret_cast<float2*>(partials + line * group_rows + warp * kPanelRows + 2 * g) = rows;
    } else if (has_panel && first_token + of_tile < x.tokens) {
      write_output(parts, place, 2 * g, first_token + of_tile, rows.x);
      write_output(parts, place, 2 * g + 1, first_token + of_tile, rows.y);
    }
  }
  if (shares == 1 || !is_last_of(parts.counters + blockIdx.z * gridDim.x + blockIdx.x, shares))
    return;
  // Four neighbouring rows of a token a thread, and again.
  constexpr int kFours = kDecodedPanels * kPanelRows / 4;
  constexpr int kEach = kTokens * kFours / Shape::kThreads;
  float4 sums[kEach] = {};
#pragma unroll 2
  for (int share = 0; share < shares; ++share) {
    const auto* from = reinterpret_cast<const float4*>(partials) +
                       static_cast<int64_t>(share) * kTokens * kFours + thread;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const float4 four = __ldcg(from + i * Shape::kThreads);
      sums[i].x += four.x;
      sums[i].y += four.y;
      sums[i].z += four.z;
      sums[i].w += four.w;
    }
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int index = i * Shape::kThreads + thread;
    const int token = first_token + index / kFours;
    const int row = index % kFours * 4;
    const int own_panel = static_cast<int>(blockIdx.z) * kDecodedPanels + row / kPanelRows;
    if (token >= x.tokens || own_panel >= panels) continue;
    const TilePlace own = find_tile(parts, own_panel, kRowsOfTile);
    write_output(parts, own, row % kPanelRows, token, sums[i].x);
    write_output(parts, own, row % kPanelRows + 1, token, sums[i].y);
    write_output(parts, own, row % kPanelRows + 2, token, sums[i].z);
    write_output(parts, own, row % kPanelRows + 3, token, sums[i].w);
  }
}

template <Packing kPacking, int kTokens>
void launch_decoded_tokens(const LinearParts& parts, const FloatInput& x, Stream stream) {
  using Shape = DecodedShape<kPacking, kTokens>;
  const DecodedGrid grid = decoded_grid(parts, x.tokens);
  launch_early(linear_decoded_kernel<kPacking, kTokens>,
               {dim3(grid.tiles, grid.shares, grid.groups), Shape::kThreads,
                size_t{Shape::kStages} * Shape::kStageBytes},
               stream, parts, x);
}

template <Packing kPacking>
void launch_decoded(const LinearParts& parts, const FloatInput& x, Stream stream) {
  if (decoded_tokens(x.tokens) == 32) {
    launch_decoded_tokens<kPacking, 32>(parts, x, stream);
  } else {
    launch_decoded_tokens<kPacking, 64>(parts, x, stream);
  }
}

}  // namespace ingot::cuda

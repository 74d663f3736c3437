// SPDX-License-Identifier: Apache-2.0
// The kernel of all packings of codes for a few tokens, eight at a time. A block of threads has a
// panel at a time, 16 rows; its warps take blocks of 256 columns in turn, and their sums are added
// in the order of warps: linear_one.cuh gives the same. Every warp has a few blocks of weights on
// their way into its own shared memory: that, not arithmetic, is what keeps the memory bus busy.
#pragma once

#include "kernels/cuda/panel_block.cuh"
#include "kernels/cuda/panel_fetch.cuh"

namespace ingot::cuda {

// A block of a tile of tokens, whose arrays are given.
template <class Facts>
__device__ inline TileInput tile_input(const int8_t* codes, const float* scales,
                                       const int16_t* sums, int block) {
  constexpr int kGroups = Facts::kInBlocks ? 1 : 8;
  constexpr int kSums = Facts::kInHalves ? 16 : 8;
  const int lane = threadIdx.x % 32;
  return {reinterpret_cast<const uint2*>(codes) + block * 256 + lane,
          reinterpret_cast<const float2*>(scales) + block * kGroups * 4 + lane % 4,
          reinterpret_cast<const short2*>(sums) + block * kSums * 4 + lane % 4};
}

template <Packing kPacking>
__global__ void __launch_bounds__(32 * kPanelWarps)
    linear_panels_kernel(const __grid_constant__ LinearParts parts,
                         const __grid_constant__ ByteInput x) {
  using Facts = PackingFacts<kPacking>;
  using Fetch = PanelFetch<kPacking>;
  extern __shared__ uint4 stages[];
  __shared__ typename Fetch::Barriers barriers;
  __shared__ typename Fetch::Turns::Drawn drawn;
  __shared__ WarpSums<1, kPanelWarps> sums;
  const int warp = threadIdx.x / 32;
  typename Fetch::Turns turns = Fetch::turns(parts, share_of_grid(), drawn);
  Fetch weights(parts, turns, stages, barriers);
  const auto tile = static_cast<int64_t>(blockIdx.y);
  constexpr int kSums = Facts::kInHalves ? 2 : 1;
  const int8_t* codes = x.codes + tile * x.runs * 256;
  const float* scales = x.scales + tile * x.groups * 8;
  const int16_t* code_sums = (Facts::kInHalves ? x.sums16 : x.sums32) + tile * x.runs * kSums * 8;
  wait_for_inputs();

  int panel = turns.at(0);
  for (int round = 0; panel < turns.count(); ++round) {
    turns.begin_round(round);
    float total[1][4] = {};
    for (int block = warp; block < weights.blocks(); block += kPanelWarps) {
      const TileInput in = tile_input<Facts>(codes, scales, code_sums, block);
      const std::byte* base = weights.wait();
      const int count = weights.runs() - block * 8;
      if (count >= 8) {
        add_block<kPacking, true>(base, in, 8, total[0]);
      } else {
        add_block<kPacking, false>(base, in, count, total[0]);
      }
      weights.go_on();
    }
    const int next = turns.at(round + 1);
    if (next >= turns.count()) let_next_begin();
    sums.put(total);
    __syncthreads();
    sums.write(parts, find_tile(parts, panel, kRowsOfTile), static_cast<int>(tile) * kTileTokens,
               x.tokens);
    __syncthreads();
    panel = next;
  }
}

template <Packing kPacking>
void launch_panels(const LinearParts& parts, const ByteInput& x, Stream stream) {
  const auto kernel = linear_panels_kernel<kPacking>;
  constexpr size_t kShared = PanelFetch<kPacking>::kSharedBytes;
  const auto panels = static_cast<unsigned>(tiles_of(parts, kRowsOfTile));
  const unsigned room = resident_blocks(kernel, 32 * kPanelWarps, kShared);
  const auto tiles = static_cast<unsigned>((x.tokens + kTileTokens - 1) / kTileTokens);
  launch_early(kernel, {dim3(panels < room ? panels : room, tiles), 32 * kPanelWarps, kShared},
               stream, parts, x);
}

}  // namespace ingot::cuda

// SPDX-License-Identifier: Apache-2.0
// The kernel of all packings of codes for a single token, in the order of sums of
// linear_panels.cuh: warps take blocks of 256 columns in turn, and their sums are added in the
// order of warps. Tensor cores multiply by eight tokens at once; here the eight are the eight
// groups of columns of a block, the token's codes of one group each and zeros elsewhere. So a block
// ends with every group's sum for every row, spread over all lanes, and is scaled in a few
// instructions: reading weights is what takes the time. Lane (g, t) has rows 2g and 2g + 1 and the
// runs 2t and 2t + 1 of a block.
#pragma once

#include "kernels/cuda/mma_int8.cuh"
#include "kernels/cuda/panel_fetch.cuh"
#include "kernels/cuda/panel_rows.cuh"
#include "kernels/cuda/panel_scales.cuh"

namespace ingot::cuda {

// A lane's share of the input: the codes that it multiplies by, which are of runs 2p and 2p + 1
// where groups are half a run (p = g / 2), or of run g alone.
template <class Facts>
struct OneInput {
  static constexpr int kRuns = Facts::kInHalves ? 2 : 1;
  uint2 codes[kRuns];
  short2 sums[kRuns];  // of this lane's groups
  float scales[2];     // of its runs, or of the block

  __device__ void load(const ByteInput& x, int block, int runs, int g, int t) {
    static_assert(!Facts::kInHalves || Facts::kBits != 8);
#pragma unroll
    for (int i = 0; i < kRuns; ++i) {
      const int run = block * 8 + (Facts::kInHalves ? g / 2 * 2 + i : g);
      const bool is_own = run < runs && (!Facts::kInHalves || g % 2 == t / 2);
      const auto* words = reinterpret_cast<const uint32_t*>(x.codes + run * 32);
      if constexpr (Facts::kBits == 8) {
        codes[i] = is_own ? make_uint2(words[t], words[t + 4]) : make_uint2(0, 0);
      } else {
        codes[i] = is_own ? reinterpret_cast<const uint2*>(words)[t] : make_uint2(0, 0);
      }
      const int16_t* at =
          Facts::kInHalves ? x.sums16 + (block * 8 + 2 * t + i) * 2 : x.sums32 + block * 8 + 2 * t;
      sums[i] = *reinterpret_cast<const short2*>(at);
    }
    if constexpr (Facts::kInBlocks) {
      scales[0] = x.scales[block];
    } else {
      const float2 both = reinterpret_cast<const float2*>(x.scales)[block * 4 + t];
      scales[0] = both.x;
      scales[1] = both.y;
    }
  }
};

// The two minima of a row times the sums of their groups' codes.
__device__ inline int multiply_mins(uint32_t mins, int row, short2 sums) {
  const auto first = static_cast<int>((mins >> (16 * row)) & 0xFF);
  const auto second = static_cast<int>((mins >> (16 * row + 8)) & 0xFF);
  return first * sums.x + second * sums.y;
}

// What lanes of equal g have of rows 2g (in an even lane, row 2g + 1 in an odd one), all together:
// pairs of neighbours first.
template <class T>
__device__ inline T add_over_runs(T first_row, T second_row, int t) {
  const T own = t % 2 == 0 ? first_row : second_row;
  const T other = t % 2 == 0 ? second_row : first_row;
  const T two = own + __shfl_xor_sync(0xFFFFFFFF, other, 1);
  return two + __shfl_xor_sync(0xFFFFFFFF, two, 2);
}

// Groups' sums of a block: of run 2t and 2t + 1, or of the halves of run 2t + i in sums[i].
template <class Facts>
struct OneSums {
  int sums[OneInput<Facts>::kRuns][4];  // rows 2g, 2g + 1 by two groups each
  int low[4];                           // of low levels
};

template <Packing kPacking>
__device__ inline OneSums<PackingFacts<kPacking>> multiply_block(
    const std::byte* block, const OneInput<PackingFacts<kPacking>>& in, int g, int t) {
  using Facts = PackingFacts<kPacking>;
  using Codes = typename Facts::Codes;
  constexpr PanelShape kShape = Facts::kShape;
  OneSums<Facts> result{};
  [[maybe_unused]] int odd[4] =
      {};  // of odd runs, where they are not apart anyway: two sums wait less for each other
#pragma unroll
  for (int run = 0; run < 8; ++run) {
    Codes codes[2];
    load_two_rows<Codes, Facts::kBits>(block + kShape.scales + run * kShape.run, g, t, codes);
    const bool is_own = Facts::kInHalves ? g / 2 == run / 2 : g == run;
    constexpr int kRuns = OneInput<Facts>::kRuns;
    const uint32_t mask = is_own ? 0xFFFFFFFF : 0;
    const uint32_t x0 = in.codes[run % kRuns].x & mask;
    const uint32_t x1 = in.codes[run % kRuns].y & mask;
    // Offsets are taken off the sums; levels are signed.
    const BytePair w[2] = {
        Facts::kHasLevels ? Facts::values(codes[0], t) : codes[0].plain(t),
        Facts::kHasLevels ? Facts::values(codes[1], t) : codes[1].plain(t),
    };
    int(&sums)[4] = kRuns == 1 && run % 2 == 1 ? odd : result.sums[run % kRuns];
    multiply_32<Facts::kHasLevels>(sums, w[0].low, w[1].low, w[0].high, w[1].high, x0, x1);
    if constexpr (Facts::kHasLowLevels) {
      const BytePair low[2] = {Facts::low_values(codes[0]), Facts::low_values(codes[1])};
      multiply_32<true>(result.low, low[0].low, low[1].low, low[0].high, low[1].high, x0, x1);
    }
  }
#pragma unroll
  for (int i = 0; i < OneInput<Facts>::kRuns; ++i) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      int& sum = result.sums[i][k];
      if constexpr (OneInput<Facts>::kRuns == 1) sum += odd[k];
      if constexpr (Facts::kHasLowLevels) sum = 128 * sum + result.low[k];
      if constexpr (!Facts::kHasLevels && Facts::kInfo.offset != 0)
        sum -= Facts::kInfo.offset * (k % 2 == 0 ? in.sums[i].x : in.sums[i].y);
    }
  }
  return result;
}

// The block's part of this lane's row, packings with a float scale per group.
template <Packing kPacking>
__device__ inline float scale_groups(const std::byte* block,
                                     const OneSums<PackingFacts<kPacking>>& sums,
                                     const OneInput<PackingFacts<kPacking>>& in, int count, int g,
                                     int t) {
  using Facts = PackingFacts<kPacking>;
  constexpr ScaleForm kForm = Facts::kInfo.form;
  float two[2] = {0, 0};  // by row
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (2 * t + i >= count) continue;
    const std::byte* scales = block + (2 * t + i) * Facts::kInfo.scale_bytes;
    const float x_scale = in.scales[i];
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const GroupScale group = group_scale<kForm>(scales, 2 * g + row);
      float& sum = two[row];
      if constexpr (Facts::kInHalves) {
        const GroupScale second = group_scale<kForm>(scales + kPanelRows, 2 * g + row);
        sum = fmaf(group.scale * x_scale, static_cast<float>(sums.sums[i][2 * row]), sum);
        sum = fmaf(second.scale * x_scale, static_cast<float>(sums.sums[i][2 * row + 1]), sum);
      } else {
        const int code_sum = i == 0 ? in.sums[0].x : in.sums[0].y;
        int whole = sums.sums[0][2 * row + i];
        if constexpr (Facts::kHasZeros) whole -= group.zero * code_sum;
        sum = fmaf(group.scale * x_scale, static_cast<float>(whole), sum);
        if constexpr (kForm == ScaleForm::kHalvesAndMins)
          sum = fmaf(group.min, x_scale * static_cast<float>(code_sum), sum);
      }
    }
  }
  return add_over_runs(two[0], two[1], t);
}

// Adds the block's part of this lane's row, packings with whole scales.
template <Packing kPacking>
__device__ inline void add_whole(const std::byte* block,
                                 const OneSums<PackingFacts<kPacking>>& sums,
                                 const OneInput<PackingFacts<kPacking>>& in, int g, int t,
                                 float& total) {
  using Facts = PackingFacts<kPacking>;
  using Scale = BlockScale<kPacking>;
  int whole[2] = {0, 0};
  int mins[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < OneInput<Facts>::kRuns; ++i) {
    PairScales<kPacking> scales;
    scales.load(block, Facts::kInHalves ? 2 * t + i : t, g);
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      whole[row] += scales.whole[row][0] * sums.sums[i][2 * row] +
                    scales.whole[row][1] * sums.sums[i][2 * row + 1];
      if constexpr (Scale::kHasMins) mins[row] += multiply_mins(scales.mins, row, in.sums[i]);
    }
  }
  const int own_row = 2 * g + t % 2;
  const float scale = Scale::float_scale(block, own_row);
  total =
      fmaf(scale * in.scales[0], static_cast<float>(add_over_runs(whole[0], whole[1], t)), total);
  if constexpr (Scale::kHasMins) {
    const float min_scale = Scale::float_min_scale(block, own_row);
    total = fmaf(-(min_scale * in.scales[0]),
                 static_cast<float>(add_over_runs(mins[0], mins[1], t)), total);
  }
}

// All of some weights, by the blocks of threads that share them.
template <Packing kPacking>
__device__ inline void multiply_all(const LinearParts& parts, const ByteInput& x,
                                    const BlockShare& share) {
  using Facts = PackingFacts<kPacking>;
  using Fetch = PanelFetch<kPacking>;
  extern __shared__ uint4 stages[];
  __shared__ typename Fetch::Barriers barriers;
  __shared__ typename Fetch::Turns::Drawn drawn;
  __shared__ float sums[2][kPanelWarps][kPanelRows];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int g = lane / 4;
  const int t = lane % 4;
  typename Fetch::Turns turns = Fetch::turns(parts, share, drawn);
  Fetch weights(parts, turns, stages, barriers);
  const int runs = weights.runs();
  wait_for_inputs();

  int panel = turns.at(0);
  for (int round = 0; panel < turns.count(); ++round) {
    turns.begin_round(round);
    float total = 0;
    for (int block = warp; block < weights.blocks(); block += kPanelWarps) {
      OneInput<Facts> in;
      in.load(x, block, runs, g, t);
      const std::byte* base = weights.wait();
      const OneSums<Facts> products = multiply_block<kPacking>(base, in, g, t);
      if constexpr (Facts::kInBlocks) {
        add_whole<kPacking>(base, products, in, g, t, total);
      } else {
        total += scale_groups<kPacking>(base, products, in, runs - block * 8, g, t);
      }
      weights.go_on();
    }
    const int next = turns.at(round + 1);
    if (next >= turns.count()) let_next_begin();
    // Two sets of sums: a warp that writes one is done with it before all meet for the one after
    // the next.
    float(&set)[kPanelWarps][kPanelRows] = sums[round % 2];
    if (t < 2) set[warp][2 * g + t] = total;
    __syncthreads();
    if (warp == round % kPanelWarps && lane < kPanelRows) {
      const TilePlace place = find_tile(parts, panel, kRowsOfTile);
      float sum = 0;
#pragma unroll
      for (int w = 0; w < kPanelWarps; ++w)
        sum += set[w][lane];
      write_output(parts, place, lane, 0, sum);
    }
    panel = next;
  }
}

template <Packing kPacking>
__global__ void __launch_bounds__(32 * kPanelWarps)
    linear_one_kernel(const __grid_constant__ LinearParts parts,
                      const __grid_constant__ ByteInput x) {
  multiply_all<kPacking>(parts, x, share_of_grid());
}

template <Packing kPacking>
void launch_one(const LinearParts& parts, const ByteInput& x, Stream stream) {
  const auto kernel = linear_one_kernel<kPacking>;
  constexpr size_t kShared = PanelFetch<kPacking>::kSharedBytes;
  const auto panels = static_cast<unsigned>(tiles_of(parts, kRowsOfTile));
  const unsigned room = resident_blocks(kernel, 32 * kPanelWarps, kShared);
  launch_early(kernel, {dim3(panels < room ? panels : room), 32 * kPanelWarps, kShared}, stream,
               parts, x);
}

}  // namespace ingot::cuda

// SPDX-License-Identifier: Apache-2.0
// Sixteen rows and 256 columns of any packing of codes by up to 8 * kTiles tokens, lanes as
// mma_int8.cuh has them.
#pragma once

#include "kernels/cuda/linear.h"
#include "kernels/cuda/mma_int8.cuh"
#include "kernels/cuda/panel_scales.cuh"

namespace ingot::cuda {

// A block of columns of a tile of inputs, as a lane reads it.
struct TileInput {
  const uint2* codes;    // a run every 32
  const float2* scales;  // of its two tokens of sums, 2t and 2t + 1, a group every 4
  const short2* sums;
};

// Products of one run: of whole runs in first, of halves in first and second.
template <class Facts>
__device__ inline void multiply_run(const BytePair (&w)[2], const uint2& x, bool is_first_half,
                                    int (&first)[4], int (&second)[4]) {
  if constexpr (Facts::kInHalves) {  // the other half's inputs are zeros
    multiply_32<Facts::kIsSigned>(first, w[0].low, w[1].low, w[0].high, w[1].high,
                                  is_first_half ? x.x : 0, is_first_half ? x.y : 0);
    multiply_32<Facts::kIsSigned>(second, w[0].low, w[1].low, w[0].high, w[1].high,
                                  is_first_half ? 0 : x.x, is_first_half ? 0 : x.y);
  } else {
    multiply_32<Facts::kIsSigned>(first, w[0].low, w[1].low, w[0].high, w[1].high, x.x, x.y);
  }
}

template <int kTiles>
__device__ inline void set_zero(float (&values)[kTiles][4]) {
#pragma unroll
  for (int i = 0; i < kTiles * 4; ++i)
    values[i / 4][i % 4] = 0;
}
template <int kTiles>
__device__ inline void add_all(float (&to)[kTiles][4], const float (&from)[kTiles][4]) {
#pragma unroll
  for (int i = 0; i < kTiles * 4; ++i)
    to[i / 4][i % 4] += from[i / 4][i % 4];
}

// Adds a block's products. kIsFull: it has all eight runs, else `count`; without questions in
// between their loads go out together.
template <Packing kPacking, bool kIsFull, int kTiles>
__device__ inline void add_block(const std::byte* base, const TileInput (&in)[kTiles], int count,
                                 float (&total)[kTiles][4]) {
  using Facts = PackingFacts<kPacking>;
  using Codes = typename Facts::Codes;
  constexpr PanelShape kShape = Facts::kShape;
  const int g = threadIdx.x % 32 / 4;
  const int t = threadIdx.x % 4;
  [[maybe_unused]] const bool is_first_half = t < 2;
  const auto* codes_at = reinterpret_cast<const uint32_t*>(base + kShape.scales);
  [[maybe_unused]] BlockScale<kPacking> block_scales[2];
  [[maybe_unused]] int whole[kTiles][4] = {};
  // Of two runs, and of four: sums of groups are added as pairs of pairs (linear_one.cuh).
  [[maybe_unused]] float two[kTiles][4];
  [[maybe_unused]] float four[2][kTiles][4];
  if constexpr (Facts::kInBlocks) {
    block_scales[0].load(base, g);
    block_scales[1].load(base, g + 8);
  }
#pragma unroll
  for (int run = 0; run < 8; ++run) {
    if constexpr (!Facts::kInBlocks) {
      if (run % 2 == 0) set_zero(two);
    }
    if (kIsFull || run < count) {
      Codes codes[2];
      const uint32_t* run_at = codes_at + run * (kShape.run / 4);
      codes[0].load(run_at, g, t);
      codes[1].load(run_at, g + 8, t);
      const BytePair w[2] = {Facts::values(codes[0], t), Facts::values(codes[1], t)};
      if constexpr (Facts::kInBlocks) {
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          const uint2 bytes = in[tile].codes[run * 32];
          int first[4] = {};
          int second[4] = {};
          multiply_run<Facts>(w, bytes, is_first_half, first, second);
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            const BlockScale<kPacking>& scale = block_scales[k / 2];
            if constexpr (Facts::kInHalves) {
              whole[tile][k] +=
                  scale.whole(2 * run) * first[k] + scale.whole(2 * run + 1) * second[k];
            } else {
              whole[tile][k] += scale.whole(run) * first[k];
            }
          }
        }
      } else {
        constexpr ScaleForm kForm = Facts::kInfo.form;
        const std::byte* scales = base + run * Facts::kInfo.scale_bytes;
        const GroupScale scale[2] = {group_scale<kForm>(scales, g),
                                     group_scale<kForm>(scales, g + 8)};
        [[maybe_unused]] GroupScale second_scale[2];
        if constexpr (Facts::kInHalves) {
          second_scale[0] = group_scale<kForm>(scales + kPanelRows, g);
          second_scale[1] = group_scale<kForm>(scales + kPanelRows, g + 8);
        }
        [[maybe_unused]] BytePair low[2];
        if constexpr (Facts::kHasLowLevels) {
          low[0] = Facts::low_values(codes[0]);
          low[1] = Facts::low_values(codes[1]);
        }
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          const uint2 bytes = in[tile].codes[run * 32];
          int first[4] = {};
          int second[4] = {};
          multiply_run<Facts>(w, bytes, is_first_half, first, second);
          if constexpr (Facts::kHasLowLevels) {
            multiply_32<true>(second, low[0].low, low[1].low, low[0].high, low[1].high, bytes.x,
                              bytes.y);
          }
          const float2 both = in[tile].scales[run * 4];
          const float x_scales[2] = {both.x, both.y};
          [[maybe_unused]] int sums[2] = {0, 0};
          if constexpr (Facts::kHasZeros || kForm == ScaleForm::kHalvesAndMins) {
            const short2 own_sums = in[tile].sums[run * 4];
            sums[0] = own_sums.x;
            sums[1] = own_sums.y;
          }
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            const GroupScale& group = scale[k / 2];
            float& sum = two[tile][k];
            if constexpr (Facts::kHasLowLevels) first[k] = 128 * first[k] + second[k];
            if constexpr (Facts::kHasZeros) first[k] -= group.zero * sums[k % 2];
            sum = fmaf(group.scale * x_scales[k % 2], static_cast<float>(first[k]), sum);
            if constexpr (Facts::kInHalves) {
              sum = fmaf(second_scale[k / 2].scale * x_scales[k % 2], static_cast<float>(second[k]),
                         sum);
            }
            if constexpr (kForm == ScaleForm::kHalvesAndMins) {
              sum = fmaf(group.min, x_scales[k % 2] * static_cast<float>(sums[k % 2]), sum);
            }
          }
        }
      }
    }
    if constexpr (!Facts::kInBlocks) {
      if (run % 4 == 1) set_zero(four[run / 4]);
      if (run % 2 == 1) add_all(four[run / 4], two);
    }
  }
  if constexpr (!Facts::kInBlocks) {
    add_all(four[0], four[1]);
    add_all(total, four[0]);
  } else {
    using Scale = BlockScale<kPacking>;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const float2 both = in[tile].scales[0];
      const float x_scales[2] = {both.x, both.y};
      [[maybe_unused]] int min_sums[4] = {};
      if constexpr (Scale::kHasMins) {
#pragma unroll
        for (int i = 0; i < Scale::kGroups; ++i) {
          const short2 own_sums = in[tile].sums[i * 4];
          const int sums[2] = {own_sums.x, own_sums.y};
#pragma unroll
          for (int k = 0; k < 4; ++k)
            min_sums[k] += block_scales[k / 2].min(i) * sums[k % 2];
        }
      }
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        float& sum = total[tile][k];
        const Scale& scale = block_scales[k / 2];
        sum = fmaf(scale.scale * x_scales[k % 2], static_cast<float>(whole[tile][k]), sum);
        if constexpr (Scale::kHasMins) {
          sum = fmaf(-(scale.min_scale * x_scales[k % 2]), static_cast<float>(min_sums[k]), sum);
        }
      }
    }
  }
}

}  // namespace ingot::cuda

// SPDX-License-Identifier: Apache-2.0
// Sixteen rows and 256 columns of any packing of codes by up to eight tokens, lanes as
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

// Codes of a run, rows g and g + 8.
template <class Facts>
struct TwoRows {
  typename Facts::Codes codes[2];

  __device__ TwoRows(const std::byte* base, int run, int g, int t) {
    constexpr PanelShape kShape = Facts::kShape;
    const auto* at = reinterpret_cast<const uint32_t*>(base + kShape.scales + run * kShape.run);
    codes[0].load(at, g, t);
    codes[1].load(at, g + 8, t);
  }
};

// Packings with whole scales: a block's sum is a whole number times the block's scale.
template <Packing kPacking, bool kIsFull>
__device__ inline void add_whole_scaled(const std::byte* base, const TileInput& in, int count,
                                        float (&total)[4]) {
  using Facts = PackingFacts<kPacking>;
  using Scale = BlockScale<kPacking>;
  const int g = threadIdx.x % 32 / 4;
  const int t = threadIdx.x % 4;
  Scale scales[2];
  scales[0].load(base, g);
  scales[1].load(base, g + 8);
  int whole[4] = {};
#pragma unroll
  for (int run = 0; run < 8; ++run) {
    if (!kIsFull && run >= count) break;
    const TwoRows<Facts> rows(base, run, g, t);
    const BytePair w[2] = {Facts::values(rows.codes[0], t), Facts::values(rows.codes[1], t)};
    int first[4] = {};
    int second[4] = {};
    multiply_run<Facts>(w, in.codes[run * 32], t < 2, first, second);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const Scale& scale = scales[k / 2];
      if constexpr (Facts::kInHalves) {
        whole[k] += scale.whole(2 * run) * first[k] + scale.whole(2 * run + 1) * second[k];
      } else {
        whole[k] += scale.whole(run) * first[k];
      }
    }
  }
  const float2 both = in.scales[0];
  const float x_scales[2] = {both.x, both.y};
  [[maybe_unused]] int min_sums[4] = {};
  if constexpr (Scale::kHasMins) {
#pragma unroll
    for (int i = 0; i < Scale::kGroups; ++i) {
      const short2 own_sums = in.sums[i * 4];
      const int sums[2] = {own_sums.x, own_sums.y};
#pragma unroll
      for (int k = 0; k < 4; ++k)
        min_sums[k] += scales[k / 2].min(i) * sums[k % 2];
    }
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const Scale& scale = scales[k / 2];
    total[k] = fmaf(scale.scale * x_scales[k % 2], static_cast<float>(whole[k]), total[k]);
    if constexpr (Scale::kHasMins) {
      total[k] =
          fmaf(-(scale.min_scale * x_scales[k % 2]), static_cast<float>(min_sums[k]), total[k]);
    }
  }
}

// A run's sums, packings with a float scale per group; added to `to`.
template <Packing kPacking>
__device__ inline void add_run(const std::byte* base, const TileInput& in, int run, int g, int t,
                               float (&to)[4]) {
  using Facts = PackingFacts<kPacking>;
  constexpr ScaleForm kForm = Facts::kInfo.form;
  const TwoRows<Facts> rows(base, run, g, t);
  const BytePair w[2] = {Facts::values(rows.codes[0], t), Facts::values(rows.codes[1], t)};
  const std::byte* scales = base + run * Facts::kInfo.scale_bytes;
  const GroupScale scale[2] = {group_scale<kForm>(scales, g), group_scale<kForm>(scales, g + 8)};
  const uint2 bytes = in.codes[run * 32];
  int first[4] = {};
  int second[4] = {};
  multiply_run<Facts>(w, bytes, t < 2, first, second);
  if constexpr (Facts::kHasLowLevels) {
    const BytePair low[2] = {Facts::low_values(rows.codes[0]), Facts::low_values(rows.codes[1])};
    multiply_32<true>(second, low[0].low, low[1].low, low[0].high, low[1].high, bytes.x, bytes.y);
  }
  const float2 both = in.scales[run * 4];
  const float x_scales[2] = {both.x, both.y};
  [[maybe_unused]] int sums[2] = {0, 0};
  if constexpr (Facts::kHasZeros || kForm == ScaleForm::kHalvesAndMins) {
    const short2 own_sums = in.sums[run * 4];
    sums[0] = own_sums.x;
    sums[1] = own_sums.y;
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const GroupScale& group = scale[k / 2];
    float& sum = to[k];
    if constexpr (Facts::kHasLowLevels) first[k] = 128 * first[k] + second[k];
    if constexpr (Facts::kHasZeros) first[k] -= group.zero * sums[k % 2];
    sum = fmaf(group.scale * x_scales[k % 2], static_cast<float>(first[k]), sum);
    if constexpr (Facts::kInHalves) {
      const GroupScale other = group_scale<kForm>(scales + kPanelRows, g + k / 2 * 8);
      sum = fmaf(other.scale * x_scales[k % 2], static_cast<float>(second[k]), sum);
    }
    if constexpr (kForm == ScaleForm::kHalvesAndMins)
      sum = fmaf(group.min, x_scales[k % 2] * static_cast<float>(sums[k % 2]), sum);
  }
}

// Sums of groups are added as pairs of pairs, as in linear_one.cuh.
template <Packing kPacking, bool kIsFull>
__device__ inline void add_group_scaled(const std::byte* base, const TileInput& in, int count,
                                        float (&total)[4]) {
  const int g = threadIdx.x % 32 / 4;
  const int t = threadIdx.x % 4;
  float four[2][4] = {};
#pragma unroll
  for (int pair = 0; pair < 4; ++pair) {
    float two[4] = {};
#pragma unroll
    for (int run = 2 * pair; run < 2 * pair + 2; ++run) {
      if (kIsFull || run < count) add_run<kPacking>(base, in, run, g, t, two);
    }
#pragma unroll
    for (int k = 0; k < 4; ++k)
      four[pair / 2][k] += two[k];
  }
#pragma unroll
  for (int k = 0; k < 4; ++k)
    total[k] += four[0][k] + four[1][k];
}

// Adds a block's products. kIsFull: it has all eight runs, else `count`; without questions in
// between their loads go out together.
template <Packing kPacking, bool kIsFull>
__device__ inline void add_block(const std::byte* base, const TileInput& in, int count,
                                 float (&total)[4]) {
  if constexpr (PackingFacts<kPacking>::kInBlocks) {
    add_whole_scaled<kPacking, kIsFull>(base, in, count, total);
  } else {
    add_group_scaled<kPacking, kIsFull>(base, in, count, total);
  }
}

}  // namespace ingot::cuda

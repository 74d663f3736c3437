// SPDX-License-Identifier: Apache-2.0
// Values of decode attention, mixed by everyone's weights: a warp takes a quarter of the elements
// of all of a split's positions. Granules that no row sees are left out: their weights are zero.
#pragma once

#include "kernels/cuda/attention_decode_score.cuh"
#include "kernels/cuda/attention_decode_view.cuh"

namespace ingot::cuda {

template <class View>
using Mixed = float[View::Shape::kTiles][View::Shape::kValueTiles][4];

template <class View>
__device__ __forceinline__ void mix_wide(const View& view, int split, Mixed<View>& part) {
  using Shape = typename View::Shape;
  const int lane = view.lane;
  const uint32_t memory = shared_address(view.memory);
  const uint32_t weights = fragment_offset(Shape::kWeights, Shape::kSplit * 2, lane);
  const int row = lane % 16;
  const int chunk = view.warp * Shape::kDims / 8 + lane / 16;
  const Granules granules = view.granules(split);
#pragma unroll 1
  for (int granule = granules.first; granule < granules.end; ++granule) {
    const uint32_t own = weights ^ static_cast<uint32_t>(granule * Shape::kGranule * 2);
    const uint32_t values =
        memory + Shape::kValues +
        static_cast<uint32_t>((granule * Shape::kGranule + row) * Shape::kRowBytes);
#pragma unroll
    for (int k = 0; k < Shape::kGranule / 16; ++k) {
      uint32_t a[Shape::kTiles][4];
#pragma unroll
      for (int tile = 0; tile < Shape::kTiles; ++tile)
        load_matrices(a[tile], memory + (own ^ (32u * k)) + tile * 16 * Shape::kSplit * 2);
#pragma unroll
      for (int pair = 0; pair < Shape::kValueTiles / 2; ++pair) {
        uint32_t b[4];
        load_matrices_transposed(
            b, values + static_cast<uint32_t>(16 * swizzled(row, chunk + 2 * pair)) +
                   k * 16 * Shape::kRowBytes);
#pragma unroll
        for (int tile = 0; tile < Shape::kTiles; ++tile) {
          mma_16x8x16<typename Shape::Element>(part[tile][2 * pair], a[tile], b[0], b[1]);
          mma_16x8x16<typename Shape::Element>(part[tile][2 * pair + 1], a[tile], b[2], b[3]);
        }
      }
    }
  }
}

template <class Shape>
__device__ __forceinline__ HalfPairs value_pairs(uint32_t bytes) {
  if constexpr (Shape::kIsInt8) {
    return int8_to_half(bytes);
  } else {
    constexpr auto kKind = Shape::kCache == KvType::kFp8E5M2 ? __NV_E5M2 : __NV_E4M3;
    return {fp8_pair_to_half<kKind>(bytes), fp8_pair_to_half<kKind>(bytes >> 16)};
  }
}

// Tile 4 u + j of a warp has elements 32 u + 4 n + j as its columns n.
template <class View>
__device__ __forceinline__ void mix_bytes(const View& view, int split, Mixed<View>& part) {
  using Shape = typename View::Shape;
  const int t = view.t;
  const uint32_t memory = shared_address(view.memory);
  const uint32_t weights = fragment_offset(Shape::kWeights, Shape::kSplit * 2, view.lane);
  const int stride = Shape::kIsInt8 ? view.step.layout.value_row_bytes : Shape::kRowBytes;
  const Granules granules = view.granules(split);
#pragma unroll 1
  for (int granule = granules.first; granule < granules.end; ++granule) {
    const uint32_t own = weights ^ static_cast<uint32_t>(granule * Shape::kGranule * 2);
    const int first = granule * Shape::kGranule;
    const uint8_t* values = view.memory + Shape::kValues + first * stride;
#pragma unroll
    for (int k = 0; k < Shape::kGranule / 16; ++k) {
      uint32_t a[Shape::kTiles][4];
#pragma unroll
      for (int tile = 0; tile < Shape::kTiles; ++tile)
        load_matrices(a[tile], memory + (own ^ (32u * k)) + tile * 16 * Shape::kSplit * 2);
      int rows[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        rows[i] = Shape::kIsInt8 ? 16 * t + k * 4 + i : 16 * k + 2 * t + i % 2 + i / 2 * 8;
      uint32_t scales[2] = {};
      if constexpr (Shape::kIsInt8) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int at = split * Shape::kSplit + first + rows[i];
          const bool is_there = at >= view.begin && at < view.end;
          const uint32_t scale = is_there ? *reinterpret_cast<const uint16_t*>(
                                                values + rows[i] * stride + view.args.kv.value_dim)
                                          : 0u;
          scales[i / 2] |= scale << (16 * (i % 2));
        }
      }
#pragma unroll
      for (int u = 0; u < Shape::kValueTiles / 4; ++u) {
        const int element = view.warp * Shape::kDims + 32 * u + 4 * view.g;
        uint32_t words[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const uint8_t* from = values + rows[i] * stride + element;
          if constexpr (Shape::kIsInt8) {
            uint32_t word[1];
            load_even(from, word);
            words[i] = word[0];
          } else {
            words[i] = *reinterpret_cast<const uint32_t*>(from);
          }
        }
        uint32_t b[2][4];  // [rows 2t or 2t + 8][tile]
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          HalfPairs low = value_pairs<Shape>(__byte_perm(words[2 * h], words[2 * h + 1], 0x5140));
          HalfPairs high = value_pairs<Shape>(__byte_perm(words[2 * h], words[2 * h + 1], 0x7362));
          if constexpr (Shape::kIsInt8) {
            low = {multiply_halves(low.low, scales[h]), multiply_halves(low.high, scales[h])};
            high = {multiply_halves(high.low, scales[h]), multiply_halves(high.high, scales[h])};
          }
          b[h][0] = low.low;
          b[h][1] = low.high;
          b[h][2] = high.low;
          b[h][3] = high.high;
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
          for (int tile = 0; tile < Shape::kTiles; ++tile)
            mma_16x8x16<typename Shape::Element>(part[tile][4 * u + j], a[tile], b[0][j], b[1][j]);
        }
      }
    }
  }
}

template <class View>
__device__ __forceinline__ void mix(const View& view, int split, Mixed<View>& part) {
  if constexpr (View::Shape::kIsWide)
    mix_wide(view, split, part);
  else
    mix_bytes(view, split, part);
}

// Row 8 i + g of the weighted values, times a factor, to `to`.
template <class View>
__device__ __forceinline__ void write_row(const View& view, int i, const Mixed<View>& from,
                                          float factor, float* to) {
  using Shape = typename View::Shape;
  const int low = 2 * (i % 2);
  const auto& tiles = from[i / 2];
  const int dim = view.args.kv.value_dim;
  if constexpr (Shape::kIsWide) {
    const int first = view.warp * Shape::kDims + 2 * view.t;
#pragma unroll
    for (int tile = 0; tile < Shape::kValueTiles; ++tile) {
      if (first + 8 * tile < dim)
        *reinterpret_cast<float2*>(to + first + 8 * tile) = make_float2(
            __fmul_rn(tiles[tile][low], factor), __fmul_rn(tiles[tile][low + 1], factor));
    }
  } else {
#pragma unroll
    for (int u = 0; u < Shape::kValueTiles / 4; ++u) {
      const int element = view.warp * Shape::kDims + 32 * u + 8 * view.t;
      if (element >= dim) continue;
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        *reinterpret_cast<float4*>(to + element + 4 * e) = make_float4(
            __fmul_rn(tiles[4 * u][low + e], factor), __fmul_rn(tiles[4 * u + 1][low + e], factor),
            __fmul_rn(tiles[4 * u + 2][low + e], factor),
            __fmul_rn(tiles[4 * u + 3][low + e], factor));
      }
    }
  }
}

}  // namespace ingot::cuda

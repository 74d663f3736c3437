// SPDX-License-Identifier: Apache-2.0
// Scores, logits and weights of decode attention: a warp takes a quarter of a split's positions for
// all queries. Rows of 16 bits are read by ldmatrix, rows of 8 bits as words whose bytes become f16
// pairs, elements then in the order of permuted(), as the queries lie.
#pragma once

#include "kernels/cuda/attention_decode_view.cuh"

namespace ingot::cuda {

// What lane l addresses of a fragment of 16 rows and columns [0, 16) in a matrix at `offset`, whose
// rows of 16-byte chunks are swizzled and as long as their alignment: from the beginning of shared
// memory. Exclusive or with 32 k: columns [16 k, 16 k + 16).
__device__ __forceinline__ uint32_t fragment_offset(int offset, int row_bytes, int lane) {
  const int row = lane % 16;
  return static_cast<uint32_t>(offset + row * row_bytes + 16 * swizzled(row, lane / 16));
}

template <class View>
using Scores = float[View::Shape::kTiles][View::Shape::kScoreTiles][4];

template <class View>
__device__ __forceinline__ void score_wide(const View& view, Scores<View>& scores) {
  using Shape = typename View::Shape;
  const int lane = view.lane;
  const uint32_t memory = shared_address(view.memory);
  const uint32_t query = fragment_offset(Shape::kQuery, Shape::kDim * 2, lane);
  const int row = view.warp * Shape::kOwn + lane / 16 * 8 + lane % 8;
  const auto key = static_cast<uint32_t>(Shape::kKeys + row * Shape::kRowBytes +
                                         16 * swizzled(row, lane / 8 % 2));
#pragma unroll
  for (int k = 0; k < Shape::kDim / 16; ++k) {
    uint32_t a[Shape::kTiles][4];
#pragma unroll
    for (int tile = 0; tile < Shape::kTiles; ++tile)
      load_matrices(a[tile], memory + (query ^ (32u * k)) + tile * 16 * Shape::kDim * 2);
#pragma unroll
    for (int pair = 0; pair < Shape::kScoreTiles / 2; ++pair) {
      uint32_t b[4];
      load_matrices(b, memory + (key ^ (32u * k)) + pair * 16 * Shape::kRowBytes);
#pragma unroll
      for (int tile = 0; tile < Shape::kTiles; ++tile) {
        mma_16x8x16<typename Shape::Element>(scores[tile][2 * pair], a[tile], b[0], b[1]);
        mma_16x8x16<typename Shape::Element>(scores[tile][2 * pair + 1], a[tile], b[2], b[3]);
      }
    }
  }
}

template <class View>
__device__ __forceinline__ void score_bytes(const View& view, Scores<View>& scores) {
  using Shape = typename View::Shape;
  const uint32_t memory = shared_address(view.memory);
  const uint32_t query = fragment_offset(Shape::kQuery, Shape::kDim * 2, view.lane);
#pragma unroll 1
  for (int block = 0; block < Shape::kDim / 64; ++block) {
    uint32_t a[4][Shape::kTiles][4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int tile = 0; tile < Shape::kTiles; ++tile)
        load_matrices(a[j][tile],
                      memory + (query ^ (32u * (block * 4 + j))) + tile * 16 * Shape::kDim * 2);
    }
#pragma unroll
    for (int n = 0; n < Shape::kScoreTiles; ++n) {
      const int row = view.warp * Shape::kOwn + n * 8 + view.g;
      const uint8_t* keys = view.memory + Shape::kKeys + block * 64 + view.t * 16;
      uint32_t words[4];
      if constexpr (Shape::kIsInt8) {
        load_even(keys + row * view.step.layout.key_row_bytes, words);
      } else {
        const uint4 loaded = *reinterpret_cast<const uint4*>(keys + row * Shape::kRowBytes);
        words[0] = loaded.x;
        words[1] = loaded.y;
        words[2] = loaded.z;
        words[3] = loaded.w;
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        HalfPairs b;
        if constexpr (Shape::kIsInt8) {
          b = int8_to_half(words[j]);
        } else {
          b = {fp8_pair_to_half<__NV_E4M3>(words[j]), fp8_pair_to_half<__NV_E4M3>(words[j] >> 16)};
        }
#pragma unroll
        for (int tile = 0; tile < Shape::kTiles; ++tile)
          mma_16x8x16<typename Shape::Element>(scores[tile][n], a[j][tile], b.low, b.high);
      }
    }
  }
  if constexpr (Shape::kIsInt8) {
#pragma unroll
    for (int n = 0; n < Shape::kScoreTiles; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int row = view.warp * Shape::kOwn + n * 8 + 2 * view.t + e;
        const float factor = __half2float(*reinterpret_cast<const __half*>(
            view.memory + Shape::kKeys + row * view.step.layout.key_row_bytes +
            view.args.kv.key_dim));
#pragma unroll
        for (int i = 0; i < Shape::kRows; ++i)
          scores[i / 2][n][2 * (i % 2) + e] *= factor;
      }
    }
  }
}

// A warp whose positions no row sees has nothing to score: make_logits() looks at none of them.
template <class View>
__device__ __forceinline__ void score(const View& view, int split, Scores<View>& scores) {
  using Shape = typename View::Shape;
  const int first = split * Shape::kSplit + view.warp * Shape::kOwn;
  if (first >= view.end || first + Shape::kOwn <= view.begin) return;
  if constexpr (Shape::kIsWide)
    score_wide(view, scores);
  else
    score_bytes(view, scores);
}

// Scores become logits, minus infinity where a row does not look; tells all warps the largest.
// Eight rows that have no query are left out, here and later.
template <class View>
__device__ __forceinline__ void make_logits(const View& view, int split, Scores<View>& scores) {
  using Shape = typename View::Shape;
  const AttentionArgs& args = view.args;
  const int first = split * Shape::kSplit + view.warp * Shape::kOwn + 2 * view.t;
  const float plain_scale = __fmul_rn(args.scale, kLog2E);
  const bool is_plain = args.softcap == 0 && args.alibi_slopes == nullptr;
#pragma unroll
  for (int i = 0; i < Shape::kRows; ++i) {
    if (8 * i >= view.queries) break;
    if (is_plain) {
#pragma unroll
      for (int n = 0; n < Shape::kScoreTiles; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e)
          scores[i / 2][n][2 * (i % 2) + e] =
              __fmul_rn(scores[i / 2][n][2 * (i % 2) + e], plain_scale);
      }
    } else {
      const int query = view.first_query + min(8 * i + view.g, view.queries - 1);
      const LogitArgs logits{
          args.scale, args.softcap,
          args.alibi_slopes == nullptr ? 0.0F : args.alibi_slopes[view.head_of(query)]};
#pragma unroll
      for (int n = 0; n < Shape::kScoreTiles; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& score = scores[i / 2][n][2 * (i % 2) + e];
          score = logit_of(score, logits, first + 8 * n + e - view.position[i]);
        }
      }
    }
    // Of the positions [from, position], counted from this thread's first.
    const int from = first_seen(view.position[i], args.window);
    const auto count = static_cast<uint32_t>(view.position[i] + 1 - from);
    const int before = first - from;
    float most = minus_infinity();
#pragma unroll
    for (int n = 0; n < Shape::kScoreTiles; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores[i / 2][n][2 * (i % 2) + e];
        if (static_cast<uint32_t>(before + 8 * n + e) >= count) score = minus_infinity();
        most = fmaxf(most, score);
      }
    }
    most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 1));
    most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 2));
    if (view.t == 0) view.largest_at(view.warp, 8 * i + view.g) = most;
  }
}

// Logits become weights, left in shared memory for all, and their sums.
template <class View>
__device__ __forceinline__ void make_weights(const View& view, const Scores<View>& scores,
                                             float (&part_largest)[View::Shape::kRows]) {
  using Shape = typename View::Shape;
#pragma unroll
  for (int i = 0; i < Shape::kRows; ++i) {
    part_largest[i] = minus_infinity();
    if (8 * i >= view.queries) continue;
    const int row = 8 * i + view.g;
    float most = view.largest_at(0, row);
#pragma unroll
    for (int w = 1; w < kDecodeWarps; ++w)
      most = fmaxf(most, view.largest_at(w, row));
    part_largest[i] = most;
    const float base = most == minus_infinity() ? 0.0F : most;
    uint8_t* weights = view.memory + Shape::kWeights + row * Shape::kSplit * 2;
    const int own = 16 * swizzled(row, view.warp * Shape::kOwn / 8) + 4 * view.t;
    float sum = 0;
#pragma unroll
    for (int n = 0; n < Shape::kScoreTiles; ++n) {
      const float a = exp2_fast(scores[i / 2][n][2 * (i % 2)] - base);
      const float b = exp2_fast(scores[i / 2][n][2 * (i % 2) + 1] - base);
      sum = __fadd_rn(sum, __fadd_rn(a, b));
      int place = own ^ (16 * n);
      if constexpr (Shape::kIsInt8) {
        const int column = permuted(view.warp * Shape::kOwn + n * 8 + 2 * view.t);
        place = 16 * swizzled(row, column / 8) + 2 * (column % 8);
      }
      *reinterpret_cast<uint32_t*>(weights + place) = pack<typename Shape::Element>(a, b);
    }
    sum = __fadd_rn(sum, __shfl_xor_sync(kAllLanes, sum, 1));
    sum = __fadd_rn(sum, __shfl_xor_sync(kAllLanes, sum, 2));
    if (view.t == 0) view.sum_at(view.warp, row) = sum;
  }
}

}  // namespace ingot::cuda

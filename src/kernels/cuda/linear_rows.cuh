// SPDX-License-Identifier: Apache-2.0
// The kernel of weights in rows: tiles of 16 rows by 8 * kTiles tokens on tensor cores, lanes as in
// mma_int8.cuh. A block of threads takes tile after tile, its warps 128 columns in turn, and their
// sums are added in the order of warps, whatever the number of tokens is.
#pragma once

#include "kernels/cuda/row_fetch.cuh"

namespace ingot::cuda {

// A lane's share of 128 columns of eight tokens. Facts: Input, the type of their numbers.
template <class Facts>
struct RowInput {
  static constexpr int kPiece = 16 / Facts::kElementBytes;
  static constexpr int kPieces = kRowChunk / (4 * kPiece);
  static constexpr int kWords = kPiece * static_cast<int>(sizeof(typename Facts::Input)) / 16;
  uint4 words[kPieces][kWords];
  float scales[2] = {1, 1};  // of the tokens that this lane has sums of
};

// Where it comes from: this warp's chunks of a tile's tokens, one after the other. Its places are
// moved on, not made again of the chunk's number, which took as many instructions as the products.
template <class Facts>
class RowInputs {
  using Piece = RowInput<Facts>;
  static constexpr int kEach = 16 / static_cast<int>(sizeof(typename Facts::Input));  // of a word

 public:
  __device__ RowInputs(const FloatInput& x, int first_token, int first_chunk) : x_(x) {
    const int lane = threadIdx.x % 32;
    const int last = x.tokens - 1;
    const auto token = static_cast<uint32_t>(min(first_token + lane / 4, last));
    at_ = token * static_cast<uint32_t>(x.stride / kEach) +
          static_cast<uint32_t>(first_chunk * (kRowChunk / kEach) + lane % 4 * Piece::kWords);
    if constexpr (Facts::kHasScales) {
      const int first = min(first_token + lane % 4 * 2, last);
      const bool has_spans = x.spans > 0;
      const int each = has_spans ? static_cast<int>(x.spans) : 1;
      scale_at_ = first * each + (has_spans ? first_chunk : 0);
      to_second_ = first < last ? each : 0;
    }
  }

  // The next chunk's.
  __device__ void load(Piece& to) {
    const auto* from = static_cast<const uint4*>(x_.values) + at_;
#pragma unroll
    for (int i = 0; i < Piece::kPieces; ++i) {
#pragma unroll
      for (int k = 0; k < Piece::kWords; ++k)
        to.words[i][k] = from[i * 4 * Piece::kWords + k];
    }
    at_ += kRowWarps * kRowChunk / kEach;
    if constexpr (Facts::kHasScales) {
      if (x_.scales == nullptr) return;
      const float* scales = x_.scales + scale_at_;
      to.scales[0] = scales[0];
      to.scales[1] = scales[to_second_];
      if (x_.spans > 0) scale_at_ += kRowWarps;
    }
  }

 private:
  const FloatInput& x_;
  uint32_t at_;        // of the words
  int scale_at_ = 0;   // of the first of the lane's two tokens
  int to_second_ = 0;  // and from there to the second
};

// The scale of a row of a tile, of which whole sums are multiplied; it comes from memory, so that
// it is asked for long before.
template <class Facts>
__device__ inline float row_scale_of(const LinearParts& parts, TilePlace place, int row_of_tile) {
  const RowPlace at = find_row<Facts::kIsGated>(place, row_of_tile, kRowsOfTile);
  const LinearPart& part = parts.part[at.part];
  return part.row_scales[min(at.row, part.rows - 1)];
}

// Facts, beside those of RowFetch and RowInput: Sum; kScalesSums, whether rows have a scale of
// whole sums; multiply(sum, words of two rows, words of the input), a lane's piece of them;
// finish(parts, x, place of the row, its scale, token, sum), an output. Three blocks of threads a
// processor: where tiles are few there is room for the next product's first, which are fetched
// meanwhile.
template <class Facts, int kTiles>
__global__ void __launch_bounds__(32 * kRowWarps, kTiles == 1 ? 3 : 2)
    linear_rows_kernel(const __grid_constant__ LinearParts parts,
                       const __grid_constant__ FloatInput x, int tiles) {
  using Sum = typename Facts::Sum;
  using Fetch = RowFetch<Facts>;
  extern __shared__ uint4 stages[];
  __shared__ WarpSums<kTiles, kRowWarps, Sum> sums[2];
  const int warp = threadIdx.x / 32;
  __shared__ typename Fetch::Turns::Drawn drawn;
  const int token_tiles = kTiles == 1 ? 1 : tiles_of(x.tokens, 8 * kTiles);
  typename Fetch::Turns turns(share_of_grid(), tiles, Fetch::ahead(parts.cols), parts.counters,
                              drawn);
  Fetch weights(parts, turns, token_tiles, stages);
  const int chunks = weights.chunks();
  int tile = turns.at(0);
  TilePlace place = weights.place(tile);
  const int own_row = static_cast<int>(threadIdx.x) % kRowsOfTile;  // whose sums it writes
  float row_scale = Facts::kScalesSums ? row_scale_of<Facts>(parts, place, own_row) : 1.0f;
  wait_for_inputs();
  if (Facts::kScalesSums && x.scales != nullptr && static_cast<int>(threadIdx.x) < x.tokens)
    asm volatile("prefetch.global.L1 [%0];" ::"l"(x.scales + threadIdx.x));

  for (int round = 0; tile < tiles; ++round) {
    turns.begin_round(round);
    const int first_token = kTiles == 1 ? 0 : tile % token_tiles * 8 * kTiles;
    Sum total[kTiles][4] = {};
    RowInputs<Facts> inputs(x, first_token, warp);
    RowInput<Facts> in;  // the next: on its way while others are multiplied
    if (warp < chunks) inputs.load(in);
    for (int chunk = warp; chunk < chunks; chunk += kRowWarps) {
      const typename Fetch::Chunk rows = weights.next();
#pragma unroll
      for (int i = 0; i < kTiles; ++i) {
        Sum sum[4] = {};
        Sum(&into)[4] = Facts::kHasScales ? sum : total[i];
#pragma unroll
        for (int piece = 0; piece < RowInput<Facts>::kPieces; ++piece)
          Facts::multiply(into, rows.words[0][piece], rows.words[1][piece], in.words[piece]);
        const float scales[2] = {in.scales[0], in.scales[1]};
        if (i + 1 < kTiles) {
          RowInputs<Facts>(x, first_token + 8 * (i + 1), chunk).load(in);
        } else if (chunk + kRowWarps < chunks) {
          inputs.load(in);
        }
        if constexpr (Facts::kHasScales) {
#pragma unroll
          for (int k = 0; k < 4; ++k)
            total[i][k] = fmaf(rows.scales[k / 2] * scales[k % 2], sum[k], total[i][k]);
        }
      }
    }
    // Two sets of sums: a warp that writes one is done with it before all meet for the one after
    // the next.
    WarpSums<kTiles, kRowWarps, Sum>& set = sums[round % 2];
    set.put(total);
    __syncthreads();
    set.each(first_token, x.tokens, round % kRowWarps, [&](int row, int token, Sum sum) {
      write_tile_row<Facts::kIsGated>(parts, place, row, token, [&](RowPlace at) {
        return Facts::finish(parts, x, at, row_scale, token, sum);
      });
    });
    tile = turns.at(round + 1);
    place = weights.place(tile);
    if constexpr (Facts::kScalesSums) row_scale = row_scale_of<Facts>(parts, place, own_row);
  }
}

template <class Facts, int kTiles>
void launch_row_tiles(const LinearParts& parts, const FloatInput& x, Stream stream) {
  const auto kernel = linear_rows_kernel<Facts, kTiles>;
  constexpr size_t kShared = RowFetch<Facts>::kSharedBytes;
  const auto tiles =
      static_cast<unsigned>(tiles_of(parts, kRowsOfTile) * tiles_of(x.tokens, 8 * kTiles));
  const unsigned room = resident_blocks(kernel, 32 * kRowWarps, kShared);
  launch_early(kernel, {dim3(tiles < room ? tiles : room), 32 * kRowWarps, kShared}, stream, parts,
               x, static_cast<int>(tiles));
}

template <class Facts>
void launch_rows(const LinearParts& parts, const FloatInput& x, Stream stream) {
  if constexpr (Facts::kCanGate) {
    if (parts.gating.is_on) return launch_rows<Gated<Facts>>(parts, x, stream);
  }
  if (x.tokens <= 8) return launch_row_tiles<Facts, 1>(parts, x, stream);
  launch_row_tiles<Facts, 4>(parts, x, stream);
}

}  // namespace ingot::cuda

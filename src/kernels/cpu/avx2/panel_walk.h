// SPDX-License-Identifier: Apache-2.0
// The walk over panels and tokens that the integer kernels share. Few tokens: a panel's codes are
// unpacked in registers and multiplied as they stream by. Many: 256 columns of a panel are unpacked
// once into a tile in L1, and a block of tokens passes over it, a few at a time. Both ways add the
// same whole numbers and round at the same places: the same bits.
//
// A Core has
//   Input                                    an activation block of 256 columns
//   Tile                                     256 columns of a panel, unpacked
//   direct<Tokens>(panel, args, x, stride, sums)  all columns; sums [Tokens][16], overwritten
//   fill(panel, args, block, tile)
//   add<Tokens>(tile, args, block, x, stride, sums)  sums [Tokens][kTokenSums] += ...
#pragma once

#include "kernels/cpu/avx2/codes.h"
#include "kernels/cpu/avx2/vectors.h"
#include "kernels/cpu/inputs_ahead.h"
#include "kernels/cpu/tile_tokens.h"
#include "kernels/linear.h"

namespace ingot::cpu {
namespace {

inline constexpr int64_t kDirectTokens =
    tile_tokens(8);  // at most; above it unpacking into a tile pays
inline constexpr int64_t kTileTokens = tile_tokens(4);  // that share the loads of a tile
inline constexpr int64_t kTilePanels = 2;               // by which a token passes while it is in L1
inline constexpr int64_t kBlockTokens = 192;            // that pass over one tile
inline constexpr int64_t kTokenSums = kTilePanels * 16;
inline constexpr int64_t kTileSums = kBlockTokens * kTokenSums;
// Whose sums wait in L2 while columns pass in pieces: in y their lines would lie a row apart, meet
// in a few sets of every cache, and be fetched anew for each piece.
inline constexpr int64_t kPieceTiles = 8;

// Calls function.operator()<N>() for N = count, 1 <= count <= Most.
template <int64_t Most, class Function>
inline void with_count(int64_t count, Function&& function) {
  if constexpr (Most == 1) {
    function.template operator()<1>();
  } else {
    if (count == Most) return function.template operator()<Most>();
    with_count<Most - 1>(count, function);
  }
}

// Eight floats, of which those from `end` on are not touched. Masked stores are slow on some
// machines, and whole eights the rule.
inline __m256 load_rows(const float* from, int64_t row, int64_t end) {
  if (end - row >= 8) return _mm256_loadu_ps(from + row);
  return _mm256_maskload_ps(from + row, lane_mask(end - row));
}
inline void store_rows(float* to, int64_t row, int64_t end, __m256 values) {
  if (end - row >= 8) return _mm256_storeu_ps(to + row, values);
  _mm256_maskstore_ps(to + row, lane_mask(end - row), values);
}

// Sums of 16 rows, scaled, to y.
inline void finish_row(const LinearArgs& args, int64_t token, int64_t row, int64_t end,
                       const float* sums) {
  for (int64_t half = 0; half < 16 && row + half < end; half += 8) {
    __m256 sum = _mm256_mul_ps(_mm256_load_ps(sums + half), _mm256_set1_ps(args.scale));
    if (args.bias != nullptr) sum = _mm256_add_ps(sum, load_rows(args.bias, row + half, end));
    store_rows(args.y + token * args.y_stride, row + half, end, sum);
  }
}

template <class Core>
void linear_direct(const LinearArgs& args, int64_t begin, int64_t end, int64_t stride) {
  const auto* x = reinterpret_cast<const typename Core::Input*>(args.x);
  with_count<kDirectTokens>(args.tokens, [&]<int64_t Tokens>() {
    for (int64_t row = begin; row < end; row += 16) {
      alignas(64) float sums[Tokens * 16];
      Core::template direct<Tokens>(args.weights + row / 16 * args.weight_stride, args, x, stride,
                                    sums);
      for (int64_t t = 0; t < Tokens; ++t)
        finish_row(args, t, row, end, sums + t * 16);
    }
  });
}

// A block of 256 columns by some tokens; sums [tokens][kTilePanels][16]. `are_new`: the inputs are
// not in L2.
template <class Core>
void add_block(const typename Core::Tile (&tiles)[kTilePanels], int64_t panels,
               const LinearArgs& args, int64_t block, const typename Core::Input* x, int64_t stride,
               int64_t tokens, bool are_new, float* sums) {
  int64_t t = 0;
  for (; t + kTileTokens <= tokens; t += kTileTokens) {
    if (are_new) ask_for_inputs(x + t * stride, stride, kTileTokens);
    for (int64_t p = 0; p < panels; ++p)
      Core::template add<kTileTokens>(tiles[p], args, block, x + t * stride, stride,
                                      sums + t * kTokenSums + p * 16);
  }
  if (t == tokens) return;
  with_count<kTileTokens - 1>(tokens - t, [&]<int64_t Tokens>() {
    for (int64_t p = 0; p < panels; ++p)
      Core::template add<Tokens>(tiles[p], args, block, x + t * stride, stride,
                                 sums + t * kTokenSums + p * 16);
  });
}

// Some tokens by columns [first, last) of blocks, by some rows; sums [tiles of rows][kTileSums].
template <class Core>
void add_columns(const LinearArgs& args, int64_t begin, int64_t end, int64_t stride, int64_t token,
                 int64_t tokens, int64_t first, int64_t last, bool are_new, float* sums) {
  const auto* x = reinterpret_cast<const typename Core::Input*>(args.x) + token * stride;
  typename Core::Tile tiles[kTilePanels];
  for (int64_t row = begin; row < end; row += kTokenSums, sums += kTileSums) {
    const int64_t panels = end - row > 16 * (kTilePanels - 1) ? kTilePanels : (end - row + 15) / 16;
    const std::byte* panel = args.weights + row / 16 * args.weight_stride;
    if (first == 0)
      __builtin_memset(sums, 0, static_cast<size_t>(tokens * kTokenSums) * sizeof(float));
    for (int64_t block = first; block < last; ++block) {
      for (int64_t p = 0; p < panels; ++p)
        Core::fill(panel + p * args.weight_stride, args, block, tiles[p]);
      add_block<Core>(tiles, panels, args, block, x + block, stride, tokens,
                      are_new && row == begin, sums);
    }
    for (int64_t t = 0; t < tokens && last == stride; ++t)
      for (int64_t p = 0; p < panels; ++p)
        finish_row(args, token + t, row + p * 16, end, sums + t * kTokenSums + p * 16);
  }
}

template <class Core>
void linear_by_tiles(const LinearArgs& args, int64_t begin, int64_t end, int64_t stride) {
  alignas(64) float sums[kPieceTiles * kTileSums];
  for (int64_t token = 0; token < args.tokens; token += kBlockTokens) {
    const int64_t left = args.tokens - token;
    const int64_t tokens = left < kBlockTokens ? left : kBlockTokens;
    const int64_t block_bytes = tokens * static_cast<int64_t>(sizeof(typename Core::Input));
    const int64_t kept_bytes = args.l2_bytes / 2;
    const int64_t pieces = (stride * block_bytes + kept_bytes - 1) / kept_bytes;
    const int64_t rows = (pieces == 1 ? 1 : kPieceTiles) * kTokenSums;
    for (int64_t row = begin; row < end; row += rows) {
      const int64_t row_end = end - row < rows ? end : row + rows;
      for (int64_t i = 0; i < pieces; ++i)
        add_columns<Core>(args, row, row_end, stride, token, tokens, stride * i / pieces,
                          stride * (i + 1) / pieces, pieces > 1 || row == begin, sums);
    }
  }
}

template <class Core>
void linear_by_panels(const LinearArgs& args, int64_t begin, int64_t end) {
  const int64_t blocks = (args.cols + kPackedColumns - 1) / kPackedColumns;
  if (args.tokens <= kDirectTokens) {
    linear_direct<Core>(args, begin, end, blocks);
  } else {
    linear_by_tiles<Core>(args, begin, end, blocks);
  }
}

}  // namespace
}  // namespace ingot::cpu

// SPDX-License-Identifier: Apache-2.0
// The walk over panels and tokens that the integer kernels share. Few tokens: a panel's codes are
// unpacked in registers and multiplied as they stream by. Many: 256 columns of a panel are unpacked
// once into a tile in L1, and a block of tokens passes over it, four at a time. Both ways add the
// same whole numbers and round at the same places: the same bits.
//
// A Core has
//   Input                                    an activation block of 256 columns
//   Tile                                     256 columns of a panel, unpacked
//   direct<Tokens>(panel, args, x, stride, sums)  all columns; sums [Tokens][16], overwritten
//   fill(panel, args, block, tile)
//   add<Tokens>(tile, args, block, x, stride, sums)  sums [Tokens][16] += ...
#pragma once

#include "kernels/cpu/neon/codes.h"
#include "kernels/linear.h"

namespace ingot::cpu {
namespace {

inline constexpr int64_t kTileTokens = 4;     // that share the loads of a tile
inline constexpr int64_t kDirectTokens = 4;   // at most; above it a tile pays
inline constexpr int64_t kBlockTokens = 192;  // that pass over one tile

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

inline void finish_row(const LinearArgs& args, int64_t token, int64_t row, int64_t end,
                       const float* sums) {
  float* y = args.y + token * args.y_stride + row;
  const int64_t rows = end - row < 16 ? end - row : 16;
  for (int64_t i = 0; i < rows; ++i) {
    const float total = sums[i] * args.scale;
    y[i] = args.bias == nullptr ? total : total + args.bias[row + i];
  }
}

template <class Core>
void linear_direct(const LinearArgs& args, int64_t begin, int64_t end, int64_t stride) {
  const auto* x = reinterpret_cast<const typename Core::Input*>(args.x);
  with_count<kDirectTokens>(args.tokens, [&]<int64_t Tokens>() {
    for (int64_t row = begin; row < end; row += 16) {
      float sums[Tokens * 16];
      Core::template direct<Tokens>(args.weights + row / 16 * args.weight_stride, args, x, stride,
                                    sums);
      for (int64_t t = 0; t < Tokens; ++t)
        finish_row(args, t, row, end, sums + t * 16);
    }
  });
}

template <class Core>
void add_block(const typename Core::Tile& tile, const LinearArgs& args, int64_t block,
               const typename Core::Input* x, int64_t stride, int64_t tokens, float* sums) {
  int64_t t = 0;
  for (; t + kTileTokens <= tokens; t += kTileTokens)
    Core::template add<kTileTokens>(tile, args, block, x + t * stride, stride, sums + t * 16);
  if (t == tokens) return;
  with_count<kTileTokens - 1>(tokens - t, [&]<int64_t Tokens>() {
    Core::template add<Tokens>(tile, args, block, x + t * stride, stride, sums + t * 16);
  });
}

template <class Core>
void linear_by_tiles(const LinearArgs& args, int64_t begin, int64_t end, int64_t stride) {
  const auto* x = reinterpret_cast<const typename Core::Input*>(args.x);
  const int64_t row_bytes = stride * static_cast<int64_t>(sizeof(typename Core::Input));
  int64_t block_tokens = args.l2_bytes / 2 / row_bytes / kTileTokens * kTileTokens;  // in L2
  if (block_tokens < 4 * kTileTokens) block_tokens = 4 * kTileTokens;
  if (block_tokens > kBlockTokens) block_tokens = kBlockTokens;
  float sums[kBlockTokens * 16];
  typename Core::Tile tile;
  for (int64_t token = 0; token < args.tokens; token += block_tokens) {
    const int64_t left = args.tokens - token;
    const int64_t tokens = left < block_tokens ? left : block_tokens;
    for (int64_t row = begin; row < end; row += 16) {
      const std::byte* panel = args.weights + row / 16 * args.weight_stride;
      __builtin_memset(sums, 0, static_cast<size_t>(tokens * 16) * sizeof(float));
      for (int64_t block = 0; block < stride; ++block) {
        Core::fill(panel, args, block, tile);
        add_block<Core>(tile, args, block, x + token * stride + block, stride, tokens, sums);
      }
      for (int64_t t = 0; t < tokens; ++t)
        finish_row(args, token + t, row, end, sums + t * 16);
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

// SPDX-License-Identifier: Apache-2.0
// The walk of the AMX kernels over many tokens: blocks of tokens that stay in L2, pairs of panels,
// blocks of 256 columns. Few tokens go the AVX-512 way, which gives the same bits: sums of whole
// numbers are exact, and are rounded at the same places.
#pragma once

#include "kernels/cpu/amx/tiles.h"
#include "kernels/cpu/avx512/panel_walk.h"

namespace ingot::cpu {
namespace {

inline constexpr int64_t kAmxBlockTokens = 256;
inline constexpr int64_t kAmxBlockBytes = int64_t{1} << 20;  // of inputs, half of the L2

// Calls add(panel, panels, block, x, tokens, sums) for each pair of panels and block of columns,
// with at most 16 tokens at a time, after fill(panel, p, block) for both panels.
template <class Input, class Fill, class Add>
void walk_token_blocks(const LinearArgs& args, int64_t begin, int64_t end, int64_t blocks,
                       int64_t column_bytes, Fill&& fill, Add&& add) {
  const auto* x = reinterpret_cast<const Input*>(args.x);
  const int64_t row_bytes = blocks * static_cast<int64_t>(sizeof(Input));
  int64_t most = kAmxBlockBytes / row_bytes / 16 * 16;
  if (most < 32) most = 32;
  if (most > kAmxBlockTokens) most = kAmxBlockTokens;
  alignas(64) float sums[kAmxBlockTokens * kTokenSums];
  for (int64_t token = 0; token < args.tokens; token += most) {
    const int64_t left = args.tokens - token;
    const int64_t tokens = left < most ? left : most;
    for (int64_t row = begin; row < end; row += kTilePanels * 16) {
      const int64_t panels = end - row > 16 ? 2 : 1;
      const std::byte* panel = args.weights + row / 16 * args.weight_stride;
      __builtin_memset(sums, 0, static_cast<size_t>(tokens * kTokenSums) * sizeof(float));
      for (int64_t block = 0; block < blocks; ++block) {
        for (int64_t p = 0; p < panels; ++p)
          fill(panel + p * args.weight_stride, p, block);
        const auto add_tokens = [&](int64_t from, int64_t to, int64_t height) {
          const TileShapes shapes(height, column_bytes);
          for (int64_t t = from; t < to; t += height)
            add(panels, block, x + (token + t) * blocks + block, height, sums + t * kTokenSums);
        };
        const int64_t whole = tokens / 16 * 16;
        if (whole > 0) add_tokens(0, whole, 16);
        if (whole < tokens) add_tokens(whole, tokens, tokens - whole);
      }
      for (int64_t t = 0; t < tokens; ++t) {
        finish_row(args, token + t, row, end, sums + t * kTokenSums);
        if (panels == 2) finish_row(args, token + t, row + 16, end, sums + t * kTokenSums + 16);
      }
    }
  }
}

}  // namespace
}  // namespace ingot::cpu

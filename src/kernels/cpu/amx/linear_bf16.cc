// SPDX-License-Identifier: Apache-2.0
// Weights and inputs in bf16, by bf16 tiles: 16 tokens by 16 rows by 32 columns in one product, the
// sums in float and in the tiles until the end. Every number of tokens goes this way, so that an
// output is added up in the same order in any company. Show it with `ingot bench kernels
// bf16pairs`.
#include "kernels/cpu/amx/linear.h"
#include "kernels/cpu/amx/tiles.h"
#include "kernels/cpu/avx512/panel_walk.h"

namespace ingot::cpu {
namespace {

struct alignas(64) Sums {
  float tiles[4][16][16];  // token tile * 2 + panel
};

// Up to 32 tokens (two tiles of sixteen, or one of `height`) by one or two panels, all columns.
template <int64_t TokenTiles, int64_t Panels>
inline void multiply(const LinearArgs& args, const std::byte* panel, const BF16Tile* x,
                     int64_t width, Sums& sums) {
  settle_memory();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t i = 0; i < width; ++i) {  // 32 columns
    const std::byte* weights = panel + i * 1024;
    _tile_loadd(4, x[i].values, 64);
    if constexpr (TokenTiles == 2) _tile_loadd(5, x[width + i].values, 64);
    _tile_loadd(6, weights, 64);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (TokenTiles == 2) _tile_dpbf16ps(2, 5, 6);
    if constexpr (Panels == 2) {
      _tile_loadd(7, weights + args.weight_stride, 64);
      _tile_dpbf16ps(1, 4, 7);
      if constexpr (TokenTiles == 2) _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, sums.tiles[0], 64);
  if constexpr (Panels == 2) _tile_stored(1, sums.tiles[1], 64);
  if constexpr (TokenTiles == 2) _tile_stored(2, sums.tiles[2], 64);
  if constexpr (TokenTiles == 2 && Panels == 2) _tile_stored(3, sums.tiles[3], 64);
  settle_memory();
}

void run_tokens(const LinearArgs& args, int64_t row, int64_t end, int64_t token, int64_t tiles,
                int64_t height, int64_t width) {
  const std::byte* panel = args.weights + row / 16 * args.weight_stride;
  const BF16Tile* x = reinterpret_cast<const BF16Tile*>(args.x) + token / 16 * width;
  const bool is_pair = end - row > 16;
  Sums sums;
  if (tiles == 2 && is_pair) multiply<2, 2>(args, panel, x, width, sums);
  if (tiles == 2 && !is_pair) multiply<2, 1>(args, panel, x, width, sums);
  if (tiles == 1 && is_pair) multiply<1, 2>(args, panel, x, width, sums);
  if (tiles == 1 && !is_pair) multiply<1, 1>(args, panel, x, width, sums);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    for (int64_t t = 0; t < height; ++t) {
      finish_row(args, token + tile * 16 + t, row, end, sums.tiles[2 * tile][t]);
      if (is_pair)
        finish_row(args, token + tile * 16 + t, row + 16, end, sums.tiles[2 * tile + 1][t]);
    }
  }
}

}  // namespace

void linear_bf16pairs_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  const int64_t width = (args.cols + 31) / 32;
  constexpr int64_t kMostBytes = int64_t{1} << 20;  // of inputs, half of the L2
  int64_t block = kMostBytes / (width * 64) / 32 * 32;
  if (block < 32) block = 32;
  for (int64_t first = 0; first < args.tokens; first += block) {
    const int64_t last = args.tokens - first < block ? args.tokens : first + block;
    const int64_t whole = first + (last - first) / 16 * 16;
    if (whole > first) {
      const TileShapes shapes(16, 64);
      for (int64_t row = begin; row < end; row += 32) {
        int64_t token = first;
        for (; token + 32 <= whole; token += 32)
          run_tokens(args, row, end, token, 2, 16, width);
        if (token < whole) run_tokens(args, row, end, token, 1, 16, width);
      }
    }
    if (whole < last) {
      const TileShapes shapes(last - whole, 64);
      for (int64_t row = begin; row < end; row += 32)
        run_tokens(args, row, end, whole, 1, last - whole, width);
    }
  }
}

}  // namespace ingot::cpu

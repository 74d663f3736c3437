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

constexpr int64_t kChunk = 32;  // steps of 32 columns that stay in the cache
constexpr int64_t kTokensTogether = 128;
constexpr int64_t kPairsTogether = 8;  // of panels

struct alignas(64) Sums {
  float tiles[4][16][16];  // token tile * 2 + panel
};

// Columns [begin, end) in steps of 32 for up to 32 tokens (two tiles of sixteen, or one of the
// tiles' height) by one or two panels. The sums go on from where the last columns left them.
template <int64_t TokenTiles, int64_t Panels>
inline void multiply(const LinearArgs& args, const std::byte* panel, const BF16Tile* x,
                     int64_t width, int64_t begin, int64_t end, Sums& sums) {
  settle_memory();
  if (begin == 0) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_loadd(0, sums.tiles[0], 64);
    if constexpr (Panels == 2) _tile_loadd(1, sums.tiles[1], 64);
    if constexpr (TokenTiles == 2) _tile_loadd(2, sums.tiles[2], 64);
    if constexpr (TokenTiles == 2 && Panels == 2) _tile_loadd(3, sums.tiles[3], 64);
  }
  for (int64_t i = begin; i < end; ++i) {
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

// At most kPairsTogether pairs of panels by kTokensTogether tokens, `height` of them in a tile.
void run_block(const LinearArgs& args, int64_t top, int64_t end, int64_t first, int64_t tokens,
               int64_t height) {
  const int64_t width = (args.cols + 31) / 32;
  const auto* inputs = reinterpret_cast<const BF16Tile*>(args.x);
  const int64_t bottom = end - top < kPairsTogether * 32 ? end : top + kPairsTogether * 32;
  Sums sums[kPairsTogether][kTokensTogether / 32];
  // Few tokens: the weights in the order in which they lie.
  const int64_t chunk = tokens <= 32 ? width : kChunk;
  for (int64_t begin = 0; begin < width; begin += chunk) {
    const int64_t stop = width - begin < chunk ? width : begin + chunk;
    for (int64_t row = top; row < bottom; row += 32) {
      const std::byte* panel = args.weights + row / 16 * args.weight_stride;
      const bool is_pair = end - row > 16;
      for (int64_t t = 0; t < tokens; t += 32) {
        Sums& own = sums[(row - top) / 32][t / 32];
        const BF16Tile* x = inputs + (first + t) / 16 * width;
        const bool is_double = tokens - t > 16;
        if (is_double && is_pair) multiply<2, 2>(args, panel, x, width, begin, stop, own);
        if (is_double && !is_pair) multiply<2, 1>(args, panel, x, width, begin, stop, own);
        if (!is_double && is_pair) multiply<1, 2>(args, panel, x, width, begin, stop, own);
        if (!is_double && !is_pair) multiply<1, 1>(args, panel, x, width, begin, stop, own);
      }
    }
  }
  for (int64_t row = top; row < bottom; row += 32) {
    for (int64_t t = 0; t < tokens; ++t) {
      const Sums& own = sums[(row - top) / 32][t / 32];
      const int64_t tile = t % 32 / height;
      finish_row(args, first + t, row, end, own.tiles[2 * tile][t % height]);
      if (end - row > 16)
        finish_row(args, first + t, row + 16, end, own.tiles[2 * tile + 1][t % height]);
    }
  }
}

}  // namespace

void linear_bf16pairs_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  const int64_t whole = args.tokens / 16 * 16;
  if (whole > 0) {
    const TileShapes shapes(16, 64);
    for (int64_t top = begin; top < end; top += kPairsTogether * 32) {
      for (int64_t first = 0; first < whole; first += kTokensTogether) {
        const int64_t left = whole - first;
        run_block(args, top, end, first, left < kTokensTogether ? left : kTokensTogether, 16);
      }
    }
  }
  if (whole < args.tokens) {
    const TileShapes shapes(args.tokens - whole, 64);
    for (int64_t top = begin; top < end; top += kPairsTogether * 32)
      run_block(args, top, end, whole, args.tokens - whole, args.tokens - whole);
  }
}

}  // namespace ingot::cpu

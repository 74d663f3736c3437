// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation_tiles.h"

#include <algorithm>
#include <cstring>

#include "base/float_types.h"

namespace ingot {
namespace {

int64_t blocks_of(int64_t cols) {
  return (cols + kPackedColumns - 1) / kPackedColumns;
}
int64_t pairs_of(int64_t cols) {
  return (cols + 31) / 32;
}

void place(const Q8G32& from, int64_t token, Q8G32Tile& tile) {
  for (int64_t group = 0; group < 8; ++group) {
    std::memcpy(tile.codes[group][token], from.codes + group * 32, 32);
    tile.scales[group][token] = from.scales[group];
    tile.weighed[group][token] = from.weighed[group];
    tile.sums[group][token] = from.sums[group];
  }
}

void place(const Q8G256& from, int64_t token, Q8G256Tile& tile) {
  for (int64_t part = 0; part < 4; ++part)
    std::memcpy(tile.codes[part][token], from.codes + part * 64, 64);
  tile.scales[token] = from.scale;
  for (int64_t i = 0; i < 16; ++i) {  // both parts have at most seven bits
    const int rest = from.sums_of_16[i] & 15;
    tile.sums[token][i][0] = to_bfloat16(static_cast<float>(from.sums_of_16[i] - rest)).bits;
    tile.sums[token][i][1] = to_bfloat16(static_cast<float>(rest)).bits;
  }
}

void place(const I16G128& from, int64_t token, I16G128Tile& tile) {
  for (int64_t part = 0; part < 4; ++part) {
    for (int64_t i = 0; i < 64; ++i) {
      tile.high[part][token][i] = static_cast<int8_t>(from.codes[part * 64 + i] >> 7);
      tile.low[part][token][i] = static_cast<int8_t>(from.codes[part * 64 + i] & 127);
    }
  }
  for (int64_t group = 0; group < 2; ++group)
    tile.scales[group][token] = from.scales[group];
}

struct BF16Run {
  uint16_t values[32];
};
void place(const BF16Run& from, int64_t token, BF16Tile& tile) {
  std::memcpy(tile.values[token], from.values, sizeof(from.values));
}

template <class Row, class Tile>
void arrange(const ArrangeArgs& args, int64_t width, int64_t begin, int64_t end) {
  const auto* rows = reinterpret_cast<const Row*>(args.rows);
  auto* tiles = reinterpret_cast<Tile*>(args.out);
  for (int64_t group = begin; group < end; ++group) {
    const int64_t first = group * kTokensOfTile;
    const int64_t count = std::min(kTokensOfTile, args.tokens - first);
    for (int64_t token = 0; token < count; ++token) {
      for (int64_t i = 0; i < width; ++i)
        place(rows[(first + token) * width + i], token, tiles[group * width + i]);
    }
  }
}

void widen(const ArrangeArgs& args, int64_t width, int64_t begin, int64_t end) {
  const auto* rows = reinterpret_cast<const Q8G32*>(args.rows);
  auto* words = reinterpret_cast<Q8G32Words*>(args.out);
  const int64_t last = std::min(end * kTokensOfTile, args.tokens) * width;
  for (int64_t i = begin * kTokensOfTile * width; i < last; ++i) {
    std::copy_n(rows[i].scales, 8, words[i].scales);
    std::copy_n(rows[i].codes, kPackedColumns, words[i].codes);
  }
}

}  // namespace

ActivationLayout rows_of(ActivationLayout layout) {
  switch (layout) {
    case ActivationLayout::kQ8G32Tiles:
    case ActivationLayout::kQ8G32Words:
      return ActivationLayout::kQ8G32;
    case ActivationLayout::kQ8G256Tiles:
      return ActivationLayout::kQ8G256;
    case ActivationLayout::kBF16Tiles:
      return ActivationLayout::kBF16;
    case ActivationLayout::kI16G128Tiles:
      return ActivationLayout::kI16G128;
    default:
      return layout;
  }
}

void arrange_rows(ActivationLayout layout, const ArrangeArgs& args, int64_t begin, int64_t end) {
  if (layout == ActivationLayout::kQ8G32Words) return widen(args, blocks_of(args.cols), begin, end);
  if (layout == ActivationLayout::kQ8G32Tiles)
    return arrange<Q8G32, Q8G32Tile>(args, blocks_of(args.cols), begin, end);
  if (layout == ActivationLayout::kQ8G256Tiles)
    return arrange<Q8G256, Q8G256Tile>(args, blocks_of(args.cols), begin, end);
  if (layout == ActivationLayout::kI16G128Tiles)
    return arrange<I16G128, I16G128Tile>(args, blocks_of(args.cols), begin, end);
  arrange<BF16Run, BF16Tile>(args, pairs_of(args.cols), begin, end);
}

size_t arranged_bytes(ActivationLayout layout, int64_t cols) {
  if (layout == ActivationLayout::kQ8G32Words)
    return static_cast<size_t>(blocks_of(cols) * kTokensOfTile) * sizeof(Q8G32Words);
  if (layout == ActivationLayout::kQ8G32Tiles)
    return static_cast<size_t>(blocks_of(cols)) * sizeof(Q8G32Tile);
  if (layout == ActivationLayout::kQ8G256Tiles)
    return static_cast<size_t>(blocks_of(cols)) * sizeof(Q8G256Tile);
  if (layout == ActivationLayout::kI16G128Tiles)
    return static_cast<size_t>(blocks_of(cols)) * sizeof(I16G128Tile);
  return static_cast<size_t>(pairs_of(cols)) * sizeof(BF16Tile);
}

}  // namespace ingot

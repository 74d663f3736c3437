// SPDX-License-Identifier: Apache-2.0
// How linear_rows_sm90.cuh's work is cut into blocks of threads, and where its factors lie.
#include <algorithm>

#include "kernels/cuda/rows_task_sm90.cuh"

namespace ingot::cuda {
namespace {

int bytes_of(ElementType type) {
  return type == ElementType::kE4M3 || type == ElementType::kInt8 ? 1 : 2;
}

// Where rows are few, columns are shared until there is a block of threads for every place that
// processors have for one. Where they are many, tiles of rows fetch their inputs together, the more
// the larger these are beside the weights.
RowsGrid rows_grid(ElementType type, const LinearParts& parts, int32_t tokens) {
  constexpr int kProcessors = 132;
  constexpr int kMostTogether = 4;  // blocks that have no columns to share
  const int each = tokens <= 16 ? 16 : tokens <= 32 ? 32 : tokens <= 64 ? 64 : 128;
  const int token_tiles = tiles_of(tokens, each);
  const int row_tiles = tiles_of(parts, kTaskRows);
  const int steps = tiles_of(static_cast<int>(parts.cols) * bytes_of(type), kBoxWidth);
  const int room = kProcessors * task_blocks(type == ElementType::kE4M3, each);
  RowsCluster cluster{1, token_tiles % 2 == 0 ? 2 : 1, 1};
  const int shares = std::clamp(room / (token_tiles * row_tiles), 1,
                                std::min(steps, kTaskShares / cluster.token_tiles));
  cluster.shares = tiles_of(steps, tiles_of(steps, shares));  // none is left without columns
  if (cluster.shares == 1 && row_tiles >= kMostTogether)
    cluster.row_tiles = each <= 32 ? 1 : each == 64 ? 2 : kMostTogether / cluster.token_tiles;
  return {each, token_tiles, row_tiles, cluster};
}

}  // namespace

bool linear_rows_sm90(ElementType type, const LinearParts& parts, const FloatInput& x,
                      Stream stream) {
  const RowsGrid grid = rows_grid(type, parts, x.tokens);
  RowsTask task{};
  task.parts = parts;
  task.x = x;
  task.cluster = grid.cluster;
  const int64_t width = parts.cols * bytes_of(type);
  for (int i = 0; i < parts.count; ++i) {
    const LinearPart& part = parts.part[i];
    if (!map_rows({part.weights, width, part.stride, part.rows},
                  weight_box_rows(parts, grid.cluster), task.weights[i]))
      return false;
  }
  if (!map_rows(
          {static_cast<const std::byte*>(x.values), width, x.stride * bytes_of(type), x.tokens},
          grid.tokens / grid.cluster.row_tiles, task.inputs))
    return false;
  switch (type) {
    case ElementType::kF16:
    case ElementType::kBF16:
      launch_half_tiles(type, task, grid, stream);
      return true;
    case ElementType::kE4M3:
      launch_e4m3_tiles(task, grid, stream);
      return true;
    case ElementType::kInt8:
      launch_int8_tiles(task, grid, stream);
      return true;
    case ElementType::kF32:
      break;  // takes inputs in f32: linear_exact()
  }
  return false;
}

}  // namespace ingot::cuda

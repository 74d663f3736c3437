// SPDX-License-Identifier: Apache-2.0
#include "convert/rope_rows.h"

namespace ingot {

std::vector<PlacedRow> placed_rows(const std::vector<RowPart>& parts) {
  std::vector<PlacedRow> rows;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::vector<RowRange> whole = {{0, parts[i].rows}};
    for (const RowRange& range : parts[i].part.rows.empty() ? whole : parts[i].part.rows) {
      for (int64_t row = range.begin; row < range.end; ++row)
        rows.push_back({i, row});
    }
  }
  return rows;
}

std::vector<RowPart> gathered_rows(const std::vector<RowPart>& parts,
                                   const std::vector<PlacedRow>& rows) {
  std::vector<RowPart> result;
  size_t last = SIZE_MAX;
  for (const PlacedRow& row : rows) {
    if (row.part != last) {
      result.push_back({{parts[row.part].part.name, {}, parts[row.part].part.is_transposed}, 0});
      last = row.part;
    }
    std::vector<RowRange>& ranges = result.back().part.rows;
    if (!ranges.empty() && ranges.back().end == row.row) {
      ++ranges.back().end;
    } else {
      ranges.push_back({row.row, row.row + 1});
    }
    ++result.back().rows;
  }
  return result;
}

void reorder_heads(RopePairing from, RopePairing to, int64_t rotary_dim, RoleTensor& tensor) {
  if (from == to || tensor.turned_heads == 0) return;
  const std::vector<PlacedRow> rows = placed_rows(tensor.parts);
  std::vector<PlacedRow> moved = rows;
  const auto half = static_cast<size_t>(rotary_dim / 2);
  for (int64_t head = 0; head < tensor.turned_heads; ++head) {
    const auto begin = static_cast<size_t>(head * tensor.head_rows);
    for (size_t i = 0; i < half; ++i) {
      for (size_t side = 0; side < 2; ++side) {
        const size_t in_halves = begin + i + side * half;
        const size_t in_neighbours = begin + 2 * i + side;
        if (to == RopePairing::kNeighbours) {
          moved[in_neighbours] = rows[in_halves];
        } else {
          moved[in_halves] = rows[in_neighbours];
        }
      }
    }
  }
  tensor.parts = gathered_rows(tensor.parts, moved);
}

}  // namespace ingot

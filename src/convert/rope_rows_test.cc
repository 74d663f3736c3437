// SPDX-License-Identifier: Apache-2.0
#include "convert/rope_rows.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

std::vector<int64_t> rows_of(const RoleTensor& tensor) {
  std::vector<int64_t> rows;
  for (const PlacedRow& row : placed_rows(tensor.parts))
    rows.push_back(row.row);
  return rows;
}

RoleTensor heads(int64_t count, int64_t size) {
  RoleTensor tensor;
  tensor.parts = {{{"w", {}, false}, count * size}};
  tensor.turned_heads = count;
  tensor.head_rows = size;
  return tensor;
}

TEST(RopeRows, HalvesBecomeNeighboursHeadByHead) {
  RoleTensor tensor = heads(2, 4);
  reorder_heads(RopePairing::kHalves, RopePairing::kNeighbours, 4, tensor);
  EXPECT_EQ(rows_of(tensor), (std::vector<int64_t>{0, 2, 1, 3, 4, 6, 5, 7}));
}

TEST(RopeRows, RowsThatAreNotTurnedStay) {
  RoleTensor tensor = heads(1, 6);
  reorder_heads(RopePairing::kHalves, RopePairing::kNeighbours, 4, tensor);
  EXPECT_EQ(rows_of(tensor), (std::vector<int64_t>{0, 2, 1, 3, 4, 5}));
}

TEST(RopeRows, ThereAndBackIsNothing) {
  RoleTensor tensor = heads(3, 8);
  reorder_heads(RopePairing::kHalves, RopePairing::kNeighbours, 8, tensor);
  reorder_heads(RopePairing::kNeighbours, RopePairing::kHalves, 8, tensor);
  ASSERT_EQ(tensor.parts.size(), 1u);
  EXPECT_EQ(tensor.parts[0].part.rows, (std::vector<RowRange>{{0, 24}}));
}

TEST(RopeRows, PartsOfSeveralTensorsKeepTheirNames) {
  RoleTensor tensor = heads(1, 4);
  tensor.parts = {{{"a", {{5, 7}}, false}, 2}, {{"b", {{1, 3}}, false}, 2}};
  reorder_heads(RopePairing::kHalves, RopePairing::kNeighbours, 4, tensor);
  ASSERT_EQ(tensor.parts.size(), 4u);
  EXPECT_EQ(tensor.parts[0].part.name, "a");
  EXPECT_EQ(tensor.parts[1].part.name, "b");
  EXPECT_EQ(rows_of(tensor), (std::vector<int64_t>{5, 1, 6, 2}));
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "kernels/weight_memory.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ingot {
namespace {

TEST(WeightMemory, GivesZerosOnCacheLinesThatDoNotOverlap) {
  WeightMemory memory;
  std::vector<std::byte*> pieces;
  for (const size_t size : {size_t{1}, size_t{100}, size_t{70} << 20, size_t{4096}}) {
    const auto piece = memory.allocate(size);
    ASSERT_TRUE(piece.is_ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*piece) % 64, 0U);
    EXPECT_EQ((*piece)[0], std::byte{0});
    EXPECT_EQ((*piece)[size - 1], std::byte{0});
    std::memset(*piece, 0x55, std::min<size_t>(size, 4096));
    pieces.push_back(*piece);
  }
  EXPECT_EQ(memory.allocated_bytes(), 1 + 100 + (size_t{70} << 20) + 4096);
  EXPECT_EQ(*pieces[0], std::byte{0x55});
}

TEST(WeightMemory, SaysSoWhenThereIsNone) {
  WeightMemory memory;
  const auto piece = memory.allocate(size_t{1} << 60);
  ASSERT_FALSE(piece.is_ok());
  EXPECT_EQ(piece.status().code(), StatusCode::kResourceExhausted);
}

TEST(WeightMemory, MovesWithItsPieces) {
  WeightMemory first;
  std::byte* piece = *first.allocate(64);
  *piece = std::byte{7};
  WeightMemory second = std::move(first);
  EXPECT_EQ(second.allocated_bytes(), 64U);
  EXPECT_EQ(*piece, std::byte{7});
}

}  // namespace
}  // namespace ingot

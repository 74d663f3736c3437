// SPDX-License-Identifier: Apache-2.0
#include "base/wide_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <new>

namespace ingot {
namespace {

TEST(WideMemory, BeginsOnACacheLineAndLargeOnesOnAHugePage) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{100}, size_t{65}, size_t{3} << 20}) {
    const WideMemory memory = allocate_wide(bytes);
    ASSERT_NE(memory, nullptr);
    const size_t unit = bytes >= size_t{2} << 20 ? size_t{2} << 20 : 64;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % unit, 0u) << bytes;
    std::memset(memory.get(), 0x5A, bytes);
  }
}

TEST(Scratch, StaysWhereItIsUntilMoreIsAskedFor) {
  Scratch scratch;
  EXPECT_EQ(scratch.data(), nullptr);
  std::byte* const first = scratch.reserve(1000);
  first[999] = std::byte{7};
  EXPECT_EQ(scratch.reserve(10), first);
  EXPECT_EQ(scratch.reserve(1000), first);
  EXPECT_EQ(scratch.data(), first);
  EXPECT_EQ(first[999], std::byte{7});
  std::byte* const second = scratch.reserve(5000);
  std::memset(second, 1, 5000);
  EXPECT_EQ(scratch.reserve(5000), second);
}

TEST(Scratch, WhatCannotBeHadThrowsAndLeavesItUsable) {
  Scratch scratch;
  scratch.reserve(1000);
  EXPECT_EQ(allocate_wide(SIZE_MAX), nullptr);
  EXPECT_THROW(scratch.reserve(SIZE_MAX), std::bad_alloc);
  std::memset(scratch.reserve(1000), 1, 1000);
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "blocks/layout.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "blocks/visit_layout.h"

namespace ingot {
namespace {

Layout layout_at(size_t i) {
  return static_cast<Layout>(i);
}

TEST(Layout, NamesFindTheirLayoutInAnyCase) {
  std::set<std::string_view> seen;
  for (size_t i = 0; i < kLayoutCount; ++i) {
    const LayoutInfo& about = info(layout_at(i));
    EXPECT_EQ(about.layout, layout_at(i));
    EXPECT_TRUE(seen.insert(about.name).second) << about.name << " names two layouts";
    std::string lower(about.name);
    for (char& c : lower)
      c = static_cast<char>(std::tolower(c));
    EXPECT_EQ(layout_named(about.name), layout_at(i));
    EXPECT_EQ(layout_named(lower), layout_at(i));
  }
  EXPECT_EQ(layout_named("Q4_K_M"), std::nullopt);
  EXPECT_EQ(layout_named(""), std::nullopt);
  EXPECT_EQ(layout_named("Q4"), std::nullopt);
}

TEST(Layout, PackedLayoutsAreExactlyTheQuantizedOnes) {
  for (size_t i = 0; i < kLayoutCount; ++i) {
    const LayoutInfo& about = info(layout_at(i));
    size_t elements = 0;
    size_t bytes = 0;
    const bool is_packed = visit_layout(about.layout, [&]<class Block>() {
      elements = Block::kGroup;
      bytes = sizeof(Block);
    });
    EXPECT_EQ(is_packed, about.is_quantized) << about.name;
    if (!is_packed) continue;
    EXPECT_EQ(elements, about.block_elements) << about.name;
    EXPECT_EQ(bytes, about.block_bytes) << about.name;
  }
}

TEST(Layout, HasTheSizesOfTheFileFormats) {
  struct Size {
    const char* name;
    uint32_t elements, bytes;
  };
  constexpr Size kSizes[] = {
      {"F32", 1, 4},       {"BF16", 1, 2},       {"F64", 1, 8},        {"F8_E8M0", 1, 1},
      {"C64", 1, 8},       {"BOOL", 1, 1},       {"F4_E2M1", 2, 1},    {"F6_E2M3", 4, 3},
      {"F6_E3M2", 4, 3},   {"Q4_0", 32, 18},     {"Q4_1", 32, 20},     {"Q5_0", 32, 22},
      {"Q5_1", 32, 24},    {"Q8_0", 32, 34},     {"Q8_1", 32, 36},     {"Q2_K", 256, 84},
      {"Q3_K", 256, 110},  {"Q4_K", 256, 144},   {"Q5_K", 256, 176},   {"Q6_K", 256, 210},
      {"Q8_K", 256, 292},  {"IQ1_S", 256, 50},   {"IQ1_M", 256, 56},   {"IQ2_XXS", 256, 66},
      {"IQ2_XS", 256, 74}, {"IQ2_S", 256, 82},   {"IQ3_XXS", 256, 98}, {"IQ3_S", 256, 110},
      {"IQ4_NL", 32, 18},  {"IQ4_XS", 256, 136}, {"TQ1_0", 256, 54},   {"TQ2_0", 256, 66},
      {"MXFP4", 32, 17},   {"NVFP4", 64, 36},    {"Q1_0", 128, 18},    {"Q2_0", 64, 18},
  };
  for (const Size& size : kSizes) {
    const std::optional<Layout> layout = layout_named(size.name);
    ASSERT_TRUE(layout.has_value()) << size.name;
    EXPECT_EQ(info(*layout).block_elements, size.elements) << size.name;
    EXPECT_EQ(info(*layout).block_bytes, size.bytes) << size.name;
  }
}

TEST(StorageBytes, RefusesPartsOfABlock) {
  EXPECT_EQ(storage_bytes(Layout::kQ4_K, 512).value(), 288u);
  EXPECT_EQ(storage_bytes(Layout::kQ4_K, 0).value(), 0u);
  EXPECT_FALSE(storage_bytes(Layout::kQ4_K, 511).is_valid());
  EXPECT_FALSE(storage_bytes(Layout::kF4_E2M1, 7).is_valid());
  EXPECT_EQ(storage_bytes(Layout::kF6_E3M2, 8).value(), 6u);
  EXPECT_FALSE(storage_bytes(Layout::kF32, CheckedSize::invalid()).is_valid());
  EXPECT_FALSE(storage_bytes(Layout::kF32, -1).is_valid());
}

// The right size or an error, never a third thing: checked against arithmetic that cannot wrap.
TEST(StorageBytes, AgreesWith128BitArithmetic) {
  __extension__ using Wide = unsigned __int128;
  std::mt19937_64 random(20260822);
  size_t valid = 0;
  size_t overflowing = 0;
  for (int round = 0; round < 1'000'000; ++round) {
    const LayoutInfo& about = info(layout_at(random() % kLayoutCount));
    Wide elements = 1;
    CheckedSize checked(1);
    const auto dims = 1 + random() % 4;
    for (uint64_t i = 0; i < dims; ++i) {
      // Any magnitude is as likely as any other; half of the sizes are made of whole blocks.
      uint64_t dim = random() >> (random() % 64);
      if (i == 0 && random() % 2 == 0) dim -= dim % about.block_elements;
      if (elements >> 64 == 0) elements *= dim;  // a product past 2^64 stays past it, unless zero
      if (dim == 0) elements = 0;
      checked = checked * CheckedSize(dim);
    }
    const CheckedSize size = storage_bytes(about.layout, checked);
    const Wide truth = elements / about.block_elements * about.block_bytes;
    const bool is_whole = elements % about.block_elements == 0;
    if (size.is_valid()) {
      ASSERT_TRUE(is_whole) << about.name;
      ASSERT_TRUE(Wide{size.value_or(0)} == truth) << about.name;
      ++valid;
    } else if (is_whole && elements >> 64 == 0 && truth >> 64 == 0) {
      // An intermediate product may overflow though a later zero dimension makes the whole zero.
      ASSERT_TRUE(elements == 0) << about.name;
    } else {
      ++overflowing;
    }
  }
  EXPECT_GT(valid, 100'000u);
  EXPECT_GT(overflowing, 100'000u);
}

}  // namespace
}  // namespace ingot

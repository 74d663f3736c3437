// SPDX-License-Identifier: Apache-2.0
// A NaN or an infinity planted in each scale of each layout must be found, and nothing else.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "blocks/elements.h"
#include "blocks/layout.h"
#include "blocks/visit_layout.h"

namespace ingot {
namespace {

constexpr size_t kBlocks = 5;
constexpr uint16_t kBadHalves[] = {0x7C00, 0xFC00, 0x7E00, 0x7C01, 0xFFFF};
constexpr uint8_t kNanE4M3[] = {0x7F, 0xFF};

// Blocks of ones: every field is small and finite.
template <class Block>
std::vector<Block> quiet_blocks() {
  std::vector<Block> blocks(kBlocks);
  std::memset(static_cast<void*>(blocks.data()), 0x11, blocks.size() * sizeof(Block));
  return blocks;
}

template <class Block>
bool is_finite_blocks(const std::vector<Block>& blocks) {
  return is_finite(Block::kLayout, std::as_bytes(std::span(blocks)));
}

// `plant(block)` spoils one block; it must be found wherever it stands.
template <class Block, class Plant>
void expect_found(Plant plant, const char* what) {
  EXPECT_TRUE(is_finite_blocks(quiet_blocks<Block>()));
  for (size_t i = 0; i < kBlocks; ++i) {
    std::vector<Block> blocks = quiet_blocks<Block>();
    plant(blocks[i]);
    EXPECT_FALSE(is_finite_blocks(blocks))
        << what << " in block " << i << " of " << info(Block::kLayout).name;
  }
}

template <class Block>
void expect_bad_scales_found() {
  for (const uint16_t bits : kBadHalves) {
    expect_found<Block>([&](Block& block) { block.scale = Half{bits}; }, "scale");
    if constexpr (requires { &Block::min; }) {
      expect_found<Block>([&](Block& block) { block.min = Half{bits}; }, "min");
    }
    if constexpr (requires { &Block::min_scale; }) {
      expect_found<Block>([&](Block& block) { block.min_scale = Half{bits}; }, "min_scale");
    }
    if constexpr (requires { &Block::sum; }) {
      expect_found<Block>([&](Block& block) { block.sum = Half{bits}; }, "sum");
    }
  }
}

template <>
void expect_bad_scales_found<IQ1_M>() {
  for (const uint16_t bits : kBadHalves) {
    expect_found<IQ1_M>(
        [&](IQ1_M& block) {
          for (size_t k = 0; k < 4; ++k) {
            block.group_scales[k] = static_cast<uint16_t>((bits >> (4 * k)) << 12);
          }
        },
        "scale");
  }
}

template <>
void expect_bad_scales_found<Q8_K>() {
  using Limits = std::numeric_limits<float>;
  for (const float bad : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
    expect_found<Q8_K>([&](Q8_K& block) { block.scale = bad; }, "scale");
  }
}

template <>
void expect_bad_scales_found<MXFP4>() {
  expect_found<MXFP4>([](MXFP4& block) { block.scale.bits = 0xFF; }, "scale");
}

template <>
void expect_bad_scales_found<NVFP4>() {
  for (size_t g = 0; g < 4; ++g) {
    for (const uint8_t bits : kNanE4M3) {
      expect_found<NVFP4>([&](NVFP4& block) { block.group_scales[g].bits = bits; }, "scale");
    }
  }
}

TEST(IsFinite, FindsABadScaleInEveryPackedLayout) {
  size_t tested = 0;
  for (size_t i = 0; i < kLayoutCount; ++i) {
    const bool is_packed = visit_layout(static_cast<Layout>(i),
                                        []<class Block>() { expect_bad_scales_found<Block>(); });
    tested += is_packed ? 1 : 0;
  }
  EXPECT_EQ(tested, 27u);
}

// All other bytes are codes: none of their values may be taken for a bad scale.
TEST(IsFinite, IgnoresTheCodes) {
  for (size_t i = 0; i < kLayoutCount; ++i) {
    visit_layout(static_cast<Layout>(i), []<class Block>() {
      if constexpr (requires { &Block::codes; }) {
        std::vector<Block> blocks = quiet_blocks<Block>();
        for (Block& block : blocks) {
          std::memset(static_cast<void*>(&block.codes), 0xFF, sizeof(block.codes));
        }
        EXPECT_TRUE(is_finite_blocks(blocks)) << info(Block::kLayout).name;
      }
    });
  }
}

TEST(IsFinite, AcceptsTheLargestScales) {
  std::vector<Q4_K> blocks = quiet_blocks<Q4_K>();
  blocks[2].scale = Half{0x7BFF};
  blocks[2].min_scale = Half{0xFBFF};
  EXPECT_TRUE(is_finite_blocks(blocks));
  std::vector<MXFP4> small = quiet_blocks<MXFP4>();
  small[0].scale.bits = 0xFE;
  EXPECT_TRUE(is_finite_blocks(small));
}

// One bad element of each float layout, by its bits.
TEST(IsFinite, FindsBadElementsOfFloatLayouts) {
  struct Case {
    Layout layout;
    std::vector<uint64_t> bad;
    uint64_t good;  // the largest number
  };
  const Case cases[] = {
      {Layout::kF32, {0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001}, 0x7F7FFFFF},
      {Layout::kF16, {0x7C00, 0xFC00, 0x7E00, 0x7C01}, 0x7BFF},
      {Layout::kBF16, {0x7F80, 0xFF80, 0x7FC0, 0x7F81}, 0x7F7F},
      {Layout::kF64,
       {0x7FF0000000000000, 0x7FF8000000000000, 0x47F0000000000000 /* 2^128 */},
       0x47EFFFFFE0000000},
      {Layout::kF8_E4M3, {0x7F, 0xFF}, 0x7E},
      {Layout::kF8_E5M2, {0x7C, 0xFC, 0x7D, 0x7F}, 0x7B},
      {Layout::kF8_E8M0, {0xFF}, 0xFE},
      {Layout::kC64, {0x7F80000000000000, 0x000000007FC00000}, 0x7F7FFFFF7F7FFFFF},
  };
  for (const Case& test : cases) {
    const size_t size = info(test.layout).block_bytes;
    for (size_t at = 0; at < 37; at += 9) {
      std::vector<std::byte> bytes(37 * size, std::byte{0});
      std::memcpy(bytes.data() + at * size, &test.good, size);
      EXPECT_TRUE(is_finite(test.layout, bytes)) << info(test.layout).name;
      for (const uint64_t bits : test.bad) {
        std::memcpy(bytes.data() + at * size, &bits, size);
        EXPECT_FALSE(is_finite(test.layout, bytes)) << info(test.layout).name << " " << bits;
      }
    }
  }
}

TEST(IsFinite, HoldsForAnyIntegerAndAnyTinyFloat) {
  const std::vector<std::byte> bytes(24, std::byte{0xFF});
  for (const Layout layout : {Layout::kI8, Layout::kI16, Layout::kI32, Layout::kI64, Layout::kU8,
                              Layout::kU16, Layout::kU32, Layout::kU64, Layout::kBool,
                              Layout::kF4_E2M1, Layout::kF6_E2M3, Layout::kF6_E3M2}) {
    EXPECT_TRUE(is_finite(layout, bytes)) << info(layout).name;
  }
  for (size_t i = 0; i < kLayoutCount; ++i)
    EXPECT_TRUE(is_finite(static_cast<Layout>(i), {}));
}

}  // namespace
}  // namespace ingot

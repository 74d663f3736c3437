// SPDX-License-Identifier: Apache-2.0
#include "kernels/activations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/float_types.h"
#include "kernels/test_random.h"

namespace ingot {
namespace {

std::vector<std::byte> pack(const PackKernel& kernel, const std::vector<float>& x, int64_t tokens,
                            int64_t cols) {
  std::vector<std::byte> out(
      activation_row_bytes(kernel.layout, cols) * static_cast<size_t>(tokens), std::byte{0xFF});
  kernel.run({x.data(), cols, out.data()}, 0, tokens);
  return out;
}

TEST(Activations, EveryListedPackerGivesTheReferencesBytes) {
  Random random(test_seed());
  for (const PackKernel& kernel : pack_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    SCOPED_TRACE(kernel.name);
    const PackKernel* truth = choose_pack(kernel.layout, TargetSet::scalar_only());
    for (const int64_t groups : {1, 3, 8, 13}) {
      const int64_t group = activation_group(kernel.layout);
      const int64_t cols = groups * (group == 1 ? 43 : group);
      std::vector<float> x = random.normals(3 * cols);
      for (int64_t i = 0; i < 32; ++i)
        x[static_cast<size_t>(i)] = 0;  // a group of zeros
      x[static_cast<size_t>(cols)] = 1e-40F;
      EXPECT_EQ(pack(kernel, x, 3, cols), pack(*truth, x, 3, cols));
    }
  }
}

TEST(Activations, CodesAreWithinHalfAStepOfTheInput) {
  Random random(test_seed());
  const std::vector<float> x = random.normals(512);
  for (const PackKernel& kernel : pack_kernels()) {
    if (kernel.layout != ActivationLayout::kQ8G256) continue;
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    const std::vector<std::byte> out = pack(kernel, x, 1, 512);
    for (size_t i = 0; i < 512; ++i) {
      Q8G256 block{};
      std::memcpy(&block, out.data() + i / 256 * sizeof(block), sizeof(block));
      EXPECT_NEAR(block.scale * static_cast<float>(block.codes[i % 256]), x[i],
                  block.scale * 0.5001F);
    }
  }
}

TEST(Activations, AnythingNotFiniteMakesItsGroupsScaleNaN) {
  for (const PackKernel& kernel : pack_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    if (kernel.layout != ActivationLayout::kQ8G32) continue;
    std::vector<float> x(96, 1.0F);
    x[5] = std::numeric_limits<float>::quiet_NaN();
    x[40] = -std::numeric_limits<float>::infinity();
    const std::vector<std::byte> out = pack(kernel, x, 1, 96);
    Q8G32 block{};
    std::memcpy(&block, out.data(), sizeof(block));
    EXPECT_TRUE(std::isnan(block.scales[0])) << kernel.name;
    EXPECT_TRUE(std::isnan(block.scales[1])) << kernel.name;
    EXPECT_EQ(block.sums[0], 0);
    EXPECT_EQ(block.scales[2], 1.0F / 127);
    EXPECT_EQ(block.sums[2], 32 * 127);
    EXPECT_EQ(block.scales[3], 0) << "past the end";
  }
}

TEST(Activations, PacksANewInputAnew) {
  ThreadPool pool(2);
  const Exec exec(pool);
  Activations activations(TargetSet::of_this_machine());
  const std::vector<float> ones(64, 1.0F);
  const std::vector<float> twos(64, 2.0F);
  activations.set(ones.data(), 1, 64);
  Q8G32 block{};
  std::memcpy(&block, activations.rows(ActivationLayout::kQ8G32, exec), sizeof(block));
  EXPECT_EQ(block.scales[0], 1.0F / 127);
  activations.set(twos.data(), 1, 64);
  std::memcpy(&block, activations.rows(ActivationLayout::kQ8G32, exec), sizeof(block));
  EXPECT_EQ(block.scales[0], 2.0F / 127);
}

// Codes that are all large leave less room for sums of products: they are made smaller, alike on
// every target.
TEST(Activations, SumsOfWordsFitTheirProducts) {
  std::vector<float> x(256);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = (i % 3 == 0 ? -1.0F : 1.0F) * (i < 128 ? 1.0F : 0.5F + static_cast<float>(i % 2) / 10);
  for (const PackKernel& kernel : pack_kernels()) {
    if (kernel.layout != ActivationLayout::kI16G128) continue;
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    SCOPED_TRACE(kernel.name);
    I16G128 block;
    kernel.run({x.data(), 256, reinterpret_cast<std::byte*>(&block)}, 0, 1);
    EXPECT_EQ(std::abs(block.codes[0]), kMostOfI16G128 * kUsedSumOfI16G128 / (128 * 4095));
    for (size_t group = 0; group < 2; ++group) {
      int sizes = 0;
      for (size_t i = group * 128; i < (group + 1) * 128; ++i) {
        sizes += std::abs(block.codes[i]);
        EXPECT_NEAR(static_cast<float>(block.codes[i]) * block.scales[group], x[i],
                    0.5001F * block.scales[group]);
      }
      EXPECT_LE(sizes, kMostSumOfI16G128);
      EXPECT_GE(sizes, kUsedSumOfI16G128 - 256);
    }
  }
}

TEST(Activations, TilesHoldTheRowsOfSixteenTokens) {
  ThreadPool pool(2);
  const Exec exec(pool);
  Random random(test_seed());
  constexpr int64_t kTokens = 21;
  constexpr int64_t kCols = 512;
  const std::vector<float> x = random.normals(kTokens * kCols);
  Activations activations(TargetSet::of_this_machine());
  activations.set(x.data(), kTokens, kCols);
  const auto* rows =
      reinterpret_cast<const Q8G256*>(activations.rows(ActivationLayout::kQ8G256, exec));
  const auto* tiles =
      reinterpret_cast<const Q8G256Tile*>(activations.rows(ActivationLayout::kQ8G256Tiles, exec));
  const auto* halves =
      reinterpret_cast<const uint16_t*>(activations.rows(ActivationLayout::kBF16, exec));
  const auto* half_tiles =
      reinterpret_cast<const BF16Tile*>(activations.rows(ActivationLayout::kBF16Tiles, exec));
  const auto* groups =
      reinterpret_cast<const Q8G32*>(activations.rows(ActivationLayout::kQ8G32, exec));
  const auto* group_tiles =
      reinterpret_cast<const Q8G32Tile*>(activations.rows(ActivationLayout::kQ8G32Tiles, exec));
  const auto* words =
      reinterpret_cast<const I16G128*>(activations.rows(ActivationLayout::kI16G128, exec));
  const auto* word_tiles =
      reinterpret_cast<const I16G128Tile*>(activations.rows(ActivationLayout::kI16G128Tiles, exec));
  for (int64_t token = 0; token < kTokens; ++token) {
    for (int64_t col = 0; col < kCols; ++col) {
      const int64_t row = token * 2 + col / 256;
      const int64_t tile = token / 16 * 2 + col / 256;
      const int64_t group = col % 256 / 32;
      EXPECT_EQ(tiles[tile].codes[col % 256 / 64][token % 16][col % 64],
                rows[row].codes[col % 256]);
      EXPECT_EQ(tiles[tile].scales[token % 16], rows[row].scale);
      const uint16_t(&parts)[2] = tiles[tile].sums[token % 16][col % 256 / 16];
      EXPECT_EQ(to_float(BFloat16{parts[0]}) + to_float(BFloat16{parts[1]}),
                static_cast<float>(rows[row].sums_of_16[col % 256 / 16]));
      EXPECT_EQ(half_tiles[token / 16 * 16 + col / 32].values[token % 16][col % 32],
                halves[token * kCols + col]);
      EXPECT_EQ(group_tiles[tile].codes[group][token % 16][col % 32], groups[row].codes[col % 256]);
      EXPECT_EQ(group_tiles[tile].scales[group][token % 16], groups[row].scales[group]);
      EXPECT_EQ(group_tiles[tile].weighed[group][token % 16], groups[row].weighed[group]);
      EXPECT_EQ(group_tiles[tile].sums[group][token % 16], groups[row].sums[group]);
      const int64_t part = col % 256 / 64;
      EXPECT_EQ(128 * word_tiles[tile].high[part][token % 16][col % 64] +
                    word_tiles[tile].low[part][token % 16][col % 64],
                words[row].codes[col % 256]);
      EXPECT_EQ(word_tiles[tile].scales[part / 2][token % 16], words[row].scales[part / 2]);
    }
  }
}

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "kernels/input_rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernels/activations.h"
#include "kernels/test_random.h"

namespace ingot {
namespace {

constexpr InputQuant kInt8Token{.kind = InputKind::kInt8};
constexpr InputQuant kInt8Shifted{.kind = InputKind::kInt8, .is_symmetric = false};
constexpr InputQuant kInt8Static{.kind = InputKind::kInt8, .scale = 0.02F};
constexpr InputQuant kInt8StaticShifted{.kind = InputKind::kInt8, .scale = 0.02F, .zero = -37};
constexpr InputQuant kFp8Token{.kind = InputKind::kE4m3};
constexpr InputQuant kFp8Limited{.kind = InputKind::kE4m3, .limit = 1.5F};
constexpr InputQuant kFp8Static{.kind = InputKind::kE4m3, .scale = 0.004F};
constexpr InputQuant kFp8Block{.kind = InputKind::kE4m3, .block = 128};
constexpr InputQuant kMxfp8{.kind = InputKind::kE4m3, .block = 32, .has_powers = true};
constexpr InputQuant kAll[] = {kInt8Token,         kInt8Shifted, kInt8Static,
                               kInt8StaticShifted, kFp8Token,    kFp8Limited,
                               kFp8Static,         kFp8Block,    kMxfp8};

struct Rounded {
  std::vector<std::byte> rows;
  std::vector<float> scales;
};

Rounded round(const RoundKernel& kernel, const InputQuant& quant, const std::vector<float>& x,
              int64_t tokens, int64_t cols) {
  Rounded result;
  result.rows.resize(activation_row_bytes(kernel.layout, cols) * static_cast<size_t>(tokens),
                     std::byte{0xFF});
  result.scales.resize(static_cast<size_t>(tokens * ((cols + 127) / 128)), 0.5F);
  kernel.run({x.data(), cols, &quant, result.rows.data(), result.scales.data()}, 0, tokens);
  return result;
}

std::vector<float> rounded_floats(const InputQuant& quant, const std::vector<float>& x,
                                  int64_t tokens, int64_t cols) {
  const RoundKernel* kernel = choose_round(ActivationLayout::kF32, quant, TargetSet::scalar_only());
  const Rounded result = round(*kernel, quant, x, tokens, cols);
  std::vector<float> values(x.size());
  std::memcpy(values.data(), result.rows.data(), result.rows.size());
  return values;
}

TEST(InputRounding, EveryListedKernelGivesTheReferencesBytes) {
  Random random(test_seed());
  for (const RoundKernel& kernel : round_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    for (const InputQuant& quant : kAll) {
      if (quant.kind != kernel.kind) continue;
      const RoundKernel* truth = choose_round(kernel.layout, quant, TargetSet::scalar_only());
      if (truth == nullptr) continue;
      for (const int64_t cols : {32, 96, 416, 1029}) {
        if (cols % activation_group(kernel.layout) != 0) continue;
        SCOPED_TRACE(fmt::format("{} {} columns", kernel.name, cols));
        std::vector<float> x = random.normals(4 * cols);
        for (int64_t i = 0; i < cols; ++i)
          x[static_cast<size_t>(cols + i)] = 0;
        x[static_cast<size_t>(2 * cols)] = 1e30F;
        x[static_cast<size_t>(2 * cols + 1)] = -3e-6F;
        x[static_cast<size_t>(3 * cols + 20)] = std::numeric_limits<float>::quiet_NaN();
        const Rounded found = round(kernel, quant, x, 4, cols);
        const Rounded expected = round(*truth, quant, x, 4, cols);
        EXPECT_EQ(found.rows, expected.rows);
        EXPECT_EQ(std::memcmp(found.scales.data(), expected.scales.data(),
                              found.scales.size() * sizeof(float)),
                  0);
      }
    }
  }
}

TEST(InputRounding, Int8IsWithinHalfAStepAndSaturates) {
  Random random(test_seed());
  const std::vector<float> x = random.normals(3 * 96);
  for (size_t token = 0; token < 3; ++token) {
    float largest = 0;
    float least = 0;
    float most = 0;
    for (size_t i = token * 96; i < token * 96 + 96; ++i) {
      largest = std::max(largest, std::fabs(x[i]));
      least = std::min(least, x[i]);
      most = std::max(most, x[i]);
    }
    const std::vector<float> even = rounded_floats(kInt8Token, x, 3, 96);
    const std::vector<float> shifted = rounded_floats(kInt8Shifted, x, 3, 96);
    const std::vector<float> fixed = rounded_floats(kInt8StaticShifted, x, 3, 96);
    for (size_t i = token * 96; i < token * 96 + 96; ++i) {
      EXPECT_NEAR(even[i], x[i], largest / 127 * 0.501F);
      // The zero point is rounded too: at one end of the range a code may be cut off.
      EXPECT_NEAR(shifted[i], x[i], (most - least) / 255 * 1.001F);
      const float in_range = std::clamp(x[i], (-128 + 37) * 0.02F, (127 + 37) * 0.02F);
      EXPECT_NEAR(fixed[i], in_range, 0.0101F);
    }
  }
}

TEST(InputRounding, E4m3IsTheNearestOfEachToken) {
  Random random(test_seed());
  const std::vector<float> x = random.normals(2 * 256);
  for (const InputQuant& quant : {kFp8Token, kFp8Static, kFp8Block, kMxfp8, kFp8Limited}) {
    const std::vector<float> values = rounded_floats(quant, x, 2, 256);
    for (size_t i = 0; i < x.size(); ++i) {
      // Three digits after the first: a sixteenth at most, but for what saturates.
      const float limit =
          quant.limit > 0 ? quant.limit : (quant.scale > 0 ? quant.scale * 448 : 1e9F);
      if (std::fabs(x[i]) > limit) {
        EXPECT_NEAR(values[i], std::copysign(limit, x[i]), limit * 1e-6F);
      } else if (std::fabs(x[i]) > 0.1F) {
        EXPECT_NEAR(values[i], x[i], std::fabs(x[i]) / 16 * 1.001F);
      }
    }
  }
  const std::vector<float> big(32, 1000.0F);
  EXPECT_FLOAT_EQ(rounded_floats(kFp8Static, big, 1, 32)[7], 448 * 0.004F);
}

TEST(InputRounding, ScalesOfPowersStayPowers) {
  const std::vector<float> x(32, 449.0F);  // just above what a scale of one holds
  const RoundKernel* kernel =
      choose_round(ActivationLayout::kF32, kMxfp8, TargetSet::scalar_only());
  const Rounded found = round(*kernel, kMxfp8, x, 1, 32);
  float first;
  std::memcpy(&first, found.rows.data(), sizeof(first));
  EXPECT_EQ(first, 448);  // 224 * 2, of a scale of two
}

TEST(InputRounding, CodesAndValuesAgree) {
  Random random(test_seed());
  const int64_t cols = 384;
  const std::vector<float> x = random.normals(2 * cols);
  for (const InputQuant& quant : kAll) {
    const bool is_int8 = quant.kind == InputKind::kInt8;
    const auto layout = is_int8 ? ActivationLayout::kQ8G32 : ActivationLayout::kBF16;
    const RoundKernel* kernel = choose_round(layout, quant, TargetSet::of_this_machine());
    if (kernel == nullptr) {
      EXPECT_EQ(quant, kMxfp8) << "blocks of 32 have no room for their scales";
      continue;
    }
    const Rounded codes = round(*kernel, quant, x, 2, cols);
    const std::vector<float> values = rounded_floats(quant, x, 2, cols);
    for (int64_t i = 0; i < 2 * cols; ++i) {
      const int64_t token = i / cols;
      const int64_t col = i % cols;
      float value = 0;
      if (is_int8) {
        const auto* blocks = reinterpret_cast<const Q8G32*>(codes.rows.data());
        const Q8G32& block = blocks[token * 2 + col / 256];
        value = block.scales[col % 256 / 32] * static_cast<float>(block.codes[col % 256]) -
                codes.scales[static_cast<size_t>(token)];
      } else {
        const auto* halves = reinterpret_cast<const BFloat16*>(codes.rows.data());
        value = to_float(halves[i]) * codes.scales[static_cast<size_t>(token * 3 + col / 128)];
      }
      ASSERT_NEAR(value, values[static_cast<size_t>(i)],
                  1e-6F * (1 + std::fabs(codes.scales[static_cast<size_t>(token)])));
    }
  }
}

TEST(InputRounding, WhatIsNotFiniteShowsInItsTokenOnly) {
  for (const InputQuant& quant : kAll) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
      std::vector<float> x(3 * 64, 1.0F);
      x[64 + 5] = bad;
      const std::vector<float> values = rounded_floats(quant, x, 3, 64);
      EXPECT_TRUE(std::isnan(values[64 + 5]));
      for (size_t i = 0; i < 64; ++i) {
        EXPECT_TRUE(std::isfinite(values[i]));
        EXPECT_TRUE(std::isfinite(values[128 + i]));
      }
    }
  }
}

TEST(InputRounding, WeightsThatRoundOneInputInTwoWaysHaveEachItsOwn) {
  ThreadPool pool(2);
  const Exec exec(pool);
  Activations activations(TargetSet::of_this_machine());
  Random random(test_seed());
  const std::vector<float> x = random.normals(5 * 256);
  activations.set(x.data(), 5, 256);
  const auto layout = ActivationLayout::kQ8G32;
  InputQuant other = kInt8Static;
  other.scale = 0.05F;
  const PackedInput first = activations.input(layout, exec, nullptr, kInt8Static);
  const PackedInput second = activations.input(layout, exec, nullptr, other);
  const PackedInput again = activations.input(layout, exec, nullptr, kInt8Static);
  EXPECT_EQ(first.rows, again.rows);
  EXPECT_NE(first.rows, second.rows);
  EXPECT_EQ(reinterpret_cast<const Q8G32*>(first.rows)->scales[0], 0.02F);
  EXPECT_EQ(reinterpret_cast<const Q8G32*>(second.rows)->scales[0], 0.05F);
  EXPECT_NE(activations.rows(layout, exec), first.rows) << "nor do they change those that do not";
}

}  // namespace
}  // namespace ingot

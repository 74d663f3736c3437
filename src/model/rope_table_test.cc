// SPDX-License-Identifier: Apache-2.0
#include "model/rope_table.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ingot {
namespace {

RopeSpec spec(RopeScaling scaling, double factor) {
  RopeSpec rope;
  rope.rotary_dim = 8;
  rope.scaling = scaling;
  rope.factor = factor;
  rope.original_context = 64;
  return rope;
}

TEST(RopeFrequencies, PlainIsAGeometricSeries) {
  const RopeFrequencies found = rope_frequencies(spec(RopeScaling::kNone, 1), 128, 0);
  ASSERT_EQ(found.inverse.size(), 4u);
  EXPECT_FLOAT_EQ(found.inverse[0], 1);
  EXPECT_FLOAT_EQ(found.inverse[1], 0.1F);
  EXPECT_FLOAT_EQ(found.inverse[3], 0.001F);
  EXPECT_FLOAT_EQ(found.attention_factor, 1);
}

TEST(RopeFrequencies, LinearDividesEveryFrequency) {
  EXPECT_FLOAT_EQ(rope_frequencies(spec(RopeScaling::kLinear, 4), 128, 0).inverse[1], 0.025F);
}

TEST(RopeFrequencies, DynamicStretchesOnlyPastTheTrainedLength) {
  const RopeSpec rope = spec(RopeScaling::kDynamic, 2);
  EXPECT_FLOAT_EQ(rope_frequencies(rope, 128, 64).inverse[1], 0.1F);
  const double theta = 10000 * std::pow(2.0 * 100 / 64 - 1, 8.0 / 6);
  EXPECT_FLOAT_EQ(rope_frequencies(rope, 128, 100).inverse[1],
                  static_cast<float>(std::pow(theta, -0.25)));
}

TEST(RopeFrequencies, YarnKeepsFastAndSlowsSlowFrequencies) {
  const RopeFrequencies found = rope_frequencies(spec(RopeScaling::kYarn, 4), 256, 0);
  EXPECT_FLOAT_EQ(found.inverse[0], 1);
  EXPECT_FLOAT_EQ(found.inverse[3], 0.001F / 4);
  EXPECT_FLOAT_EQ(found.attention_factor, static_cast<float>(0.1 * std::log(4.0) + 1));
}

TEST(RopeFrequencies, Llama3LeavesShortWavesAndSlowsLongOnes) {
  RopeSpec rope = spec(RopeScaling::kLlama3, 8);
  const RopeFrequencies found = rope_frequencies(rope, 512, 0);
  EXPECT_FLOAT_EQ(found.inverse[0], 1);           // wavelength 6.3 < 64 / 4
  EXPECT_FLOAT_EQ(found.inverse[3], 0.001F / 8);  // wavelength 6283 > 64
}

TEST(RopeFrequencies, LongRopeSwitchesFactorsWithTheLength) {
  RopeSpec rope = spec(RopeScaling::kLongRope, 4);
  rope.short_factors = {1, 1, 1, 1};
  rope.long_factors = {1, 2, 4, 8};
  EXPECT_FLOAT_EQ(rope_frequencies(rope, 256, 64).inverse[1], 0.1F);
  EXPECT_FLOAT_EQ(rope_frequencies(rope, 256, 65).inverse[1], 0.05F);
  EXPECT_FLOAT_EQ(rope_frequencies(rope, 256, 65).attention_factor,
                  static_cast<float>(std::sqrt(1 + std::log(4.0) / std::log(64.0))));
}

TEST(RopeTable, HoldsEverySequencesOwnPositions) {
  Batch batch;
  batch.tokens = {5, 6, 7};
  batch.sequences = {{2, 10, {}, 12}, {1, 3, {}, 4}};
  RopeTable table(spec(RopeScaling::kNone, 1), 128);
  table.fill(batch);
  const auto angle = [&](size_t row, size_t pair) {
    return std::atan2(table.sin()[row * 4 + pair], table.cos()[row * 4 + pair]);
  };
  EXPECT_NEAR(angle(0, 1), 1.0, 1e-6);
  EXPECT_NEAR(angle(1, 1), 1.1, 1e-6);
  EXPECT_NEAR(angle(2, 1), 0.3, 1e-6);
}

TEST(RopeTable, NumbersThatWereKeptAreThoseOfAFreshTable) {
  // The last is past what is kept.
  const int64_t positions[] = {0, 17, 3, 17, 1000, 999, 3, int64_t{1} << 24};
  for (const RopeScaling scaling : {RopeScaling::kLinear, RopeScaling::kDynamic}) {
    RopeTable kept(spec(scaling, 2), 128);
    for (const int64_t position : positions) {
      for (const int64_t rope_length : {40, 100}) {
        Batch batch;
        batch.tokens = {5};
        batch.sequences = {{1, position, {}, rope_length}};
        RopeTable fresh(spec(scaling, 2), 128);
        fresh.fill(batch);
        kept.fill(batch);
        for (size_t pair = 0; pair < 4; ++pair) {
          EXPECT_EQ(kept.cos()[pair], fresh.cos()[pair]);
          EXPECT_EQ(kept.sin()[pair], fresh.sin()[pair]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ingot

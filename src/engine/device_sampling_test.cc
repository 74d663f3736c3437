// SPDX-License-Identifier: Apache-2.0
// What devices are told, done here with a sort and plain sums, must choose what the sampler
// chooses.
#include "engine/device_sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "engine/sampler_candidates.h"

namespace ingot {
namespace {

// The contract of RowSampling, as plainly as can be.
TokenId choose(const RowSampling& row, std::vector<float> logits) {
  for (const LogitEdit& edit : row.edits) {
    float& x = logits[static_cast<size_t>(edit.id)];
    x = x > 0 ? x / edit.factor : x * edit.factor;
    x += edit.addend;
  }
  for (size_t i = 0; i < logits.size() && !row.mask.empty(); ++i)
    if (((row.mask[i / 32] >> (i % 32)) & 1u) == 0) logits[i] = -kInfinity;
  std::vector<size_t> best(logits.size());
  std::iota(best.begin(), best.end(), size_t{0});
  std::ranges::stable_sort(best, [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  if (row.is_greedy) return static_cast<TokenId>(best.front());
  const double top = static_cast<double>(logits[best.front()]);
  const auto weight = [&](size_t i, float scale) {
    return std::exp((static_cast<double>(logits[i]) - top) * static_cast<double>(scale));
  };
  const auto total = [&](float scale) {
    return std::accumulate(best.begin(), best.end(), 0.0,
                           [&](double sum, size_t i) { return sum + weight(i, scale); });
  };
  if (row.top_k > 0) best.resize(std::min(best.size(), static_cast<size_t>(row.top_k)));
  if (row.top_p < 1) {
    const double target = row.top_p * total(row.top_p_scale);
    double sum = 0;
    size_t count = 0;
    while (count < best.size() && sum < target)
      sum += weight(best[count++], row.top_p_scale);
    best.resize(std::max<size_t>(count, 1));
  }
  std::erase_if(best, [&](size_t i) {
    return static_cast<double>(logits[i]) < static_cast<float>(top + row.min_p_reach);
  });
  std::ranges::sort(best);
  double left = row.uniform * total(row.scale);
  for (const size_t i : best)
    if ((left -= weight(i, row.scale)) < 0) return static_cast<TokenId>(i);
  return static_cast<TokenId>(best.back());
}

class DeviceSamplingTest : public ::testing::Test {
 protected:
  void expect_same_tokens(const SamplingParams& params) {
    std::mt19937_64 random(7);
    std::normal_distribution<float> normal(0, 3);
    const Sampler sampler(params);
    for (uint64_t position = 20; position < 60; ++position) {
      std::vector<float> logits(500);
      for (float& logit : logits)
        logit = std::round(normal(random) * 16) / 16;  // with ties
      std::vector<TokenId> history(position);
      for (TokenId& id : history)
        id = static_cast<TokenId>(random() % 500);
      const SequenceView view{history, 15};
      rows_.clear();
      rows_.add_on_host();
      rows_.add(sampler, view, position, logits.size(), scratch_.penalties);
      const std::span<const RowSampling> rows = rows_.rows();
      ASSERT_EQ(rows.size(), 2U);
      EXPECT_TRUE(rows[0].is_on_host);
      ASSERT_FALSE(rows[1].is_on_host);
      Sampler own = sampler;
      const Result<TokenId> expected = own.sample(logits, view, position, scratch_);
      ASSERT_TRUE(expected.is_ok()) << expected.status().message();
      EXPECT_EQ(choose(rows[1], logits), *expected) << "at " << position;
    }
  }

  SamplerScratch scratch_;
  DeviceSampling rows_;
};

SamplingParams plain() {
  return {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 5};
}

TEST_F(DeviceSamplingTest, CutsAndTemperatureAreTheSamplers) {
  expect_same_tokens({});
  expect_same_tokens({.temperature = 0});
  expect_same_tokens(plain());
  expect_same_tokens({.temperature = 1.7F, .top_k = 0, .top_p = 0.8F, .min_p = 0});
  expect_same_tokens({.temperature = 0.3F, .top_k = 0, .top_p = 1, .min_p = 0.1F});
  SamplingParams first = {.temperature = 1.5F, .top_k = 30, .top_p = 0.7F, .min_p = 0.2F};
  first.stages = {SamplerStage::kTemperature, SamplerStage::kTopK, SamplerStage::kTopP,
                  SamplerStage::kMinP};
  expect_same_tokens(first);
  first.stages = {SamplerStage::kTopP, SamplerStage::kTemperature, SamplerStage::kMinP};
  expect_same_tokens(first);
}

TEST_F(DeviceSamplingTest, BiasesBansAndPenaltiesAreTheSamplers) {
  SamplingParams params = plain();
  params.temperature = 0;
  params.repetition_penalty = 1.7F;
  params.presence_penalty = 0.9F;
  params.frequency_penalty = 0.6F;
  params.repeat_last_n = -1;
  expect_same_tokens(params);
  params.penalize_prompt = false;
  expect_same_tokens(params);
  params.logit_bias = {{3, 5.0F}, {4, -kInfinity}, {3, 0.1F}, {499, 4.0F}};
  params.bad_words = {{17}, {8, 9}};
  params.min_tokens = 30;
  params.eos_ids = {3};
  expect_same_tokens(params);
  params.allowed_token_ids = {400, 7, 31, 32, 33, 3};
  expect_same_tokens(params);
  params.temperature = 0.9F;
  expect_same_tokens(params);
  params.stages = {SamplerStage::kTemperature};  // and no penalties
  expect_same_tokens(params);
}

TEST_F(DeviceSamplingTest, WhatDevicesCannotDoIsLeftToTheHost) {
  const auto is_left = [](void (*change)(SamplingParams&)) {
    SamplingParams params;
    change(params);
    return !plan_row(params);
  };
  EXPECT_FALSE(is_left([](SamplingParams&) {}));
  EXPECT_TRUE(is_left([](SamplingParams& p) { p.mirostat = 2; }));
  EXPECT_TRUE(is_left([](SamplingParams& p) { p.dynatemp_range = 0.5F; }));
  EXPECT_TRUE(is_left([](SamplingParams& p) { p.typical_p = 0.9F; }));
  EXPECT_TRUE(is_left([](SamplingParams& p) { p.top_n_sigma = 1; }));
  EXPECT_TRUE(is_left([](SamplingParams& p) { p.xtc_probability = 0.5F; }));
  EXPECT_TRUE(is_left([](SamplingParams& p) { p.dry_multiplier = 1; }));
  EXPECT_TRUE(is_left([](SamplingParams& p) { p.top_k = kMostDeviceTopK + 1; }));
  EXPECT_FALSE(is_left([](SamplingParams& p) { p.logprobs = kMostDeviceLogprobs; }));
  EXPECT_TRUE(is_left([](SamplingParams& p) { p.logprobs = kMostDeviceLogprobs + 1; }));
  EXPECT_TRUE(is_left([](SamplingParams& p) {
    p.stages = {SamplerStage::kTopP, SamplerStage::kTopK};
  }));
  EXPECT_TRUE(is_left([](SamplingParams& p) {
    p.stages = {SamplerStage::kTopK, SamplerStage::kTopK};
  }));
  EXPECT_TRUE(is_left([](SamplingParams& p) {
    p.presence_penalty = 1;
    p.stages = {SamplerStage::kTemperature, SamplerStage::kPenalties};
  }));
  // Cuts do not matter to greedy answers; repeats do.
  EXPECT_FALSE(is_left([](SamplingParams& p) {
    p.temperature = 0;
    p.typical_p = 0.9F;
    p.stages = {SamplerStage::kTopP, SamplerStage::kTypicalP, SamplerStage::kTopK};
  }));
  EXPECT_TRUE(is_left([](SamplingParams& p) {
    p.temperature = 0;
    p.dry_multiplier = 1;
  }));
}

}  // namespace
}  // namespace ingot

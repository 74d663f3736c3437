// SPDX-License-Identifier: Apache-2.0
// Sampling on the GPU against the processor's sampler, on the same logits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/device_sampling.h"
#include "engine/sampling.h"
#include "kernels/cuda/test_device.h"
#include "kernels/ops.h"
#include "kernels/test_random.h"

namespace ingot {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
// Of a share of the weights: what the order of sums may change.
constexpr double kRounding = 1e-6;

class SamplingCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    INGOT_NEEDS_DEVICE();
    gpu_ = *test_device()->make_ops();
  }

  // Rows of normal numbers, each a different stretch of one list; `grain` makes ties.
  void make_logits(size_t rows, size_t vocab, float deviation, float grain = 0) {
    rows_ = rows;
    vocab_ = vocab;
    std::vector<float> values = random_.normals(static_cast<int64_t>(vocab + 7 * rows));
    for (float& value : values) {
      value *= deviation;
      if (grain > 0) value = std::round(value / grain) * grain;
    }
    logits_.resize(rows * vocab);
    for (size_t row = 0; row < rows; ++row)
      std::copy_n(values.begin() + static_cast<ptrdiff_t>(7 * row), vocab, row_of(row).begin());
  }
  std::span<float> row_of(size_t row) { return std::span(logits_).subspan(row * vocab_, vocab_); }
  SequenceView history_of(size_t row) const { return {histories_[row], 10}; }
  static uint64_t position_of(size_t row) { return 100 + row; }

  // Samples all rows on the GPU, row i with params[i % size], and compares each.
  void compare(const std::vector<SamplingParams>& params, bool may_leave_to_host = false) {
    samplers_.clear();
    histories_.resize(rows_);
    plan_.clear();
    for (size_t row = 0; row < rows_; ++row) {
      histories_[row].resize(40);
      for (TokenId& id : histories_[row])
        id = static_cast<TokenId>(random_.whole(0, static_cast<int64_t>(vocab_) - 1));
      samplers_.emplace_back(params[row % params.size()]);
      plan_.add(samplers_.back(), history_of(row), position_of(row), vocab_, scratch_.penalties);
    }
    for (int turn = 0; turn < 2; ++turn) {  // memory is there the second time
      SCOPED_TRACE("turn " + std::to_string(turn));
      ASSERT_NO_FATAL_FAILURE(run());
      for (size_t row = 0; row < rows_; ++row)
        ASSERT_NO_FATAL_FAILURE(check(row, may_leave_to_host)) << "row " << row;
    }
  }

  void run() {
    OpsStep step;
    step.sampling = plan_.rows();
    gpu_->begin(step);
    float* logits = gpu_->buffer(Buffer::kLogits, std::ssize(logits_));
    gpu_->write(logits, logits_);
    gpu_->start_sampling(logits, static_cast<int64_t>(vocab_));
    ASSERT_TRUE(gpu_->finish().is_ok());
    const auto samples = gpu_->samples();
    ASSERT_TRUE(samples.is_ok()) << samples.status().message();
    ASSERT_EQ(samples->size(), rows_);
    samples_.assign(samples->begin(), samples->end());
    after_.resize(logits_.size());
    ASSERT_TRUE(gpu_->read(logits, after_).is_ok());
    ASSERT_EQ(std::memcmp(after_.data(), logits_.data(), logits_.size() * sizeof(float)), 0)
        << "logits are not what they were";
  }

  void check(size_t row, bool may_leave_to_host) {
    const RowSample& sample = samples_[row];
    Sampler sampler = samplers_[row];
    const std::span<const float> logits = row_of(row);
    const Result<TokenId> expected =
        sampler.sample(logits, history_of(row), position_of(row), scratch_);
    if (!expected.is_ok()) {
      ASSERT_EQ(sample.id, -1) << expected.status().message();
      return;
    }
    if (may_leave_to_host && sample.id == -1) return;
    if (sample.id != *expected) {
      ASSERT_NO_FATAL_FAILURE(check_neighbour(row));
    }
    if (!sampler.params().logprobs) return;
    const PositionLogprobs truth =
        position_logprobs(logits, sample.id, *sampler.params().logprobs, scratch_.candidates);
    EXPECT_EQ(sample.logprobs.id, sample.id);
    EXPECT_NEAR(sample.logprobs.logprob, truth.logprob, 1e-5F);
    ASSERT_EQ(sample.logprobs.top.size(), truth.top.size());
    for (size_t i = 0; i < truth.top.size(); ++i) {
      EXPECT_EQ(sample.logprobs.top[i].id, truth.top[i].id) << "alternative " << i;
      if (!std::isfinite(truth.top[i].logprob)) continue;
      EXPECT_NEAR(sample.logprobs.top[i].logprob, truth.top[i].logprob, 1e-5F);
    }
  }

  // Another token than the processor's must lie at the number drawn but for rounding.
  void check_neighbour(size_t row) {
    const Sampler& sampler = samplers_[row];
    ASSERT_FALSE(is_greedy(sampler.params()));
    const auto list =
        sampler.distribution(row_of(row), history_of(row), position_of(row), scratch_);
    ASSERT_TRUE(list.is_ok());
    const double number = sampler.number_for(position_of(row));
    double sum = 0;
    for (const Sampler::TokenProbability& token : *list) {
      if (token.id == samples_[row].id) {
        EXPECT_GE(number, sum - kRounding);
        EXPECT_LE(number, sum + token.probability + kRounding);
        return;
      }
      sum += token.probability;
    }
    FAIL() << "token " << samples_[row].id << " was cut on the processor";
  }

  Random random_{test_seed()};
  std::unique_ptr<Ops> gpu_;
  size_t rows_ = 0;
  size_t vocab_ = 0;
  std::vector<float> logits_, after_;
  std::vector<std::vector<TokenId>> histories_;
  std::vector<Sampler> samplers_;
  std::vector<RowSample> samples_;
  DeviceSampling plan_;
  SamplerScratch scratch_;
};

SamplingParams plain(float temperature) {
  return {.temperature = temperature, .top_k = 0, .top_p = 1, .min_p = 0, .seed = test_seed()};
}
SamplingParams with_top_k(int32_t top_k) {
  SamplingParams params = plain(0.9F);
  params.top_k = top_k;
  return params;
}
SamplingParams with_top_p(float top_p, float temperature = 1.2F) {
  SamplingParams params = plain(temperature);
  params.top_p = top_p;
  return params;
}
SamplingParams with_min_p(float min_p) {
  SamplingParams params = plain(1.5F);
  params.min_p = min_p;
  return params;
}
SamplingParams with_all_cuts() {
  return {.temperature = 1.3F, .top_k = 50, .top_p = 0.9F, .min_p = 0.02F, .seed = test_seed()};
}
SamplingParams with_edits(float temperature) {
  SamplingParams params = plain(temperature);
  params.top_p = 0.9F;
  params.repetition_penalty = 1.4F;
  params.presence_penalty = 0.5F;
  params.frequency_penalty = 0.3F;
  params.logit_bias = {{1, 3.0F}, {5, -kInfinity}, {1, 0.7F}, {6, 2.5F}};
  params.bad_words = {{2}};
  params.eos_ids = {3};
  params.min_tokens = 1000;
  return params;
}

struct Size {
  size_t rows;
  size_t vocab;
};
constexpr Size kSizes[] = {{1, 7},      {3, 7},      {64, 7},     {300, 7},
                           {1, 1000},   {3, 1000},   {64, 1000},  {300, 1000},
                           {1, 128256}, {3, 128256}, {64, 128256}};

TEST_F(SamplingCuda, GreedyRowsTakeTheLowestOfTheLargest) {
  for (const Size& size : kSizes) {
    SCOPED_TRACE(std::to_string(size.rows) + " rows of " + std::to_string(size.vocab));
    make_logits(size.rows, size.vocab, 3);
    compare({plain(0)});
    make_logits(size.rows, size.vocab, 3, 2);  // hundreds share the largest
    compare({plain(0)});
  }
  make_logits(300, 128256, 3);
  compare({plain(0)});
  make_logits(2, 262144, 3);
  compare({plain(0)});
}

TEST_F(SamplingCuda, BothZerosAreOneLogit) {
  make_logits(2, 1000, 1);
  std::ranges::fill(logits_, -1.0F);
  row_of(0)[300] = row_of(1)[300] = -0.0F;
  row_of(0)[700] = row_of(1)[700] = 0.0F;
  compare({plain(0), with_top_k(1)});
}

TEST_F(SamplingCuda, CutsKeepWhatTheProcessorsKeep) {
  const std::vector<SamplingParams> all{with_top_k(1),      with_top_k(40),      with_top_k(1024),
                                        with_top_p(0.0F),   with_top_p(0.3F),    with_top_p(0.95F),
                                        with_top_p(0.999F), with_min_p(0.05F),   with_min_p(1.0F),
                                        with_min_p(1e-6F),  with_all_cuts(),     plain(1),
                                        plain(0.2F),        with_top_p(0.9F, 3), plain(0)};
  for (const Size& size : kSizes) {
    // From peaked to flat: few candidates, or a nucleus of most of the row.
    for (const float deviation : {6.0F, 3.0F, 1.0F}) {
      SCOPED_TRACE(std::to_string(size.rows) + " rows of " + std::to_string(size.vocab) +
                   ", deviation " + std::to_string(deviation));
      make_logits(size.rows, size.vocab, deviation);
      if (size.rows < all.size()) {
        for (const SamplingParams& params : all)
          compare({params});
      } else {
        compare(all);
      }
    }
  }
}

TEST_F(SamplingCuda, TiesAreCutAtTheirLowestIdsOrLeftToTheHost) {
  const std::vector<SamplingParams> all{with_top_k(40), with_top_p(0.5F), with_top_p(0.95F),
                                        with_all_cuts(), with_min_p(0.1F)};
  for (const Size& size : {Size{64, 1000}, Size{64, 128256}}) {
    make_logits(size.rows, size.vocab, 3, 0.5F);
    compare(all, /*may_leave_to_host=*/true);
  }
  // All alike: top-k needs those with the lowest ids, which only fit to be sorted in the small row.
  make_logits(5, 1000, 0);
  compare(all);
  make_logits(5, 128256, 0);
  compare(all, /*may_leave_to_host=*/true);
}

TEST_F(SamplingCuda, TemperatureMayStandBeforeTheCuts) {
  make_logits(64, 128256, 3);
  SamplingParams first = with_all_cuts();
  first.stages = {SamplerStage::kTemperature, SamplerStage::kTopK, SamplerStage::kTopP,
                  SamplerStage::kMinP};
  SamplingParams second = with_top_p(0.9F, 0.7F);
  second.min_p = 0.01F;
  second.stages = {SamplerStage::kTemperature, SamplerStage::kTopP, SamplerStage::kMinP};
  compare({first, second});
}

TEST_F(SamplingCuda, BiasesPenaltiesAndMasksAreTheProcessors) {
  std::vector<SamplingParams> all{with_edits(0), with_edits(1), plain(0), with_top_k(40)};
  SamplingParams masked = with_edits(1);
  masked.allowed_token_ids = {0, 1, 4, 5, 6};
  all.push_back(masked);
  masked.temperature = 0;
  all.push_back(masked);
  masked.top_k = 3;
  masked.temperature = 2;
  all.push_back(masked);
  masked = plain(1);
  masked.allowed_token_ids = {4};
  all.push_back(masked);
  for (const Size& size : kSizes) {
    SCOPED_TRACE(std::to_string(size.rows) + " rows of " + std::to_string(size.vocab));
    make_logits(size.rows, size.vocab, 2);
    if (size.rows < all.size()) {
      for (const SamplingParams& params : all)
        compare({params});
    } else {
      compare(all);
    }
  }
}

TEST_F(SamplingCuda, LogprobsAreOfTheModelsOwnLogits) {
  std::vector<SamplingParams> all{plain(0), with_top_k(40), with_edits(0), with_edits(1),
                                  with_top_p(0.9F)};
  for (size_t i = 0; i < all.size(); ++i)
    all[i].logprobs = static_cast<int32_t>(i * 5);  // 0 to 20
  all.push_back(plain(0));                          // and one that asks for none
  for (const Size& size : kSizes) {
    SCOPED_TRACE(std::to_string(size.rows) + " rows of " + std::to_string(size.vocab));
    make_logits(size.rows, size.vocab, 2);
    compare(all);
  }
  make_logits(12, 1000, 2, 1);
  compare(all);
}

TEST_F(SamplingCuda, RowsThatAreNoNumbersAreToldAndTheirNeighboursSampled) {
  for (const size_t vocab : {size_t{7}, size_t{1000}, size_t{128256}}) {
    make_logits(12, vocab, 2);
    const size_t last = vocab - 1;
    row_of(1)[last] = kNaN;
    row_of(3)[0] = kInfinity;
    std::ranges::fill(row_of(5), -kInfinity);
    row_of(7)[vocab / 2] = -kNaN;
    row_of(9)[last] = -kInfinity;  // that one is fine
    std::ranges::fill(row_of(11), kNaN);
    std::vector<SamplingParams> all{plain(0), with_top_k(5), with_top_p(0.9F), with_edits(0)};
    all[0].logprobs = 3;
    SamplingParams masked = plain(0);  // hides it, and yet it counts
    masked.allowed_token_ids = {2};
    all.push_back(masked);
    for (const SamplingParams& params : all)
      compare({params});
  }
}

TEST_F(SamplingCuda, WhenEverythingIsBannedTheHostSaysSo) {
  make_logits(4, 1000, 2);
  SamplingParams banned = plain(0);
  banned.allowed_token_ids = {5};
  banned.logit_bias = {{5, -kInfinity}};
  SamplingParams drawn = banned;
  drawn.temperature = 1;
  compare({plain(0), banned, drawn, with_top_k(5)});
  EXPECT_GE(samples_[0].id, 0);
  EXPECT_EQ(samples_[1].id, -1);
  EXPECT_EQ(samples_[2].id, -1);
  EXPECT_GE(samples_[3].id, 0);
}

TEST_F(SamplingCuda, RowsOfTheHostAreLeftAlone) {
  make_logits(3, 1000, 2);
  histories_.assign(3, {1, 2, 3});
  const Sampler sampler(plain(0));
  plan_.clear();
  plan_.add_on_host();
  plan_.add(sampler, {histories_[1], 1}, 5, vocab_, scratch_.penalties);
  plan_.add_on_host();
  ASSERT_NO_FATAL_FAILURE(run());
  EXPECT_EQ(samples_[0].id, -1);
  EXPECT_EQ(samples_[1].id, argmax(row_of(1)));
  EXPECT_EQ(samples_[2].id, -1);
  plan_.clear();
  for (int i = 0; i < 3; ++i)
    plan_.add_on_host();
  ASSERT_NO_FATAL_FAILURE(run());
  for (const RowSample& sample : samples_)
    EXPECT_EQ(sample.id, -1);
}

}  // namespace
}  // namespace ingot

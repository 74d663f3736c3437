// SPDX-License-Identifier: Apache-2.0
#include "bench/random_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/thread_pool.h"
#include "bench/latency.h"
#include "bench/random_weights.h"
#include "model/decoder.h"
#include "model/fingerprint.h"

namespace ingot {
namespace {

using testing::HasSubstr;

ModelOptions options_of_tests() {
  ModelOptions options;
  options.threads = 1;
  return options;
}

std::vector<float> logits_of(const std::shared_ptr<const Model>& model) {
  ThreadPool pool(1);
  const Exec exec(pool);
  KvCacheOptions memory{KvCacheType::kF32, 16, {}, nullptr};
  memory.pages_per_group.assign(cache_groups(model->spec(), KvCacheType::kF32, 16).size(), 1);
  Result<KvCache> cache = KvCache::create(model->spec(), memory);
  Result<Decoder> decoder = Decoder::create(model, exec, KvCacheType::kF32);
  Batch batch;
  batch.tokens = {1, 2, 3};
  const std::vector<PageTable> tables(cache->groups().size(), PageTable{0});
  batch.sequences = {{.tokens = 3, .first_position = 0, .tables = tables, .rope_length = 3}};
  batch.output_rows = {2};
  const Result<std::span<const float>> logits = decoder->forward(batch, *cache);
  EXPECT_TRUE(logits.is_ok()) << logits.status().message();
  if (!logits.is_ok()) return {};
  return {logits->begin(), logits->end()};
}

// Neither dead nor exploding: logits deviate by about one.
TEST(RandomModel, ComputesNumbersInEveryFormat) {
  for (const char* format :
       {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_k_m", "q6_k", "q2_k", "iq4_xs", "mxfp4", "nvfp4",
        "tq2_0", "fp8", "fp8_block", "int8", "gptq", "awq", "nf4"}) {
    SCOPED_TRACE(format);
    const auto loaded = make_random_model(std::string("tiny:") + format, options_of_tests());
    ASSERT_TRUE(loaded.is_ok()) << loaded.status().message();
    EXPECT_EQ(loaded->name, std::string("random tiny ") + format);
    const std::vector<float> logits = logits_of(loaded->model);
    ASSERT_EQ(logits.size(), 512u);
    double squares = 0;
    for (const float logit : logits)
      squares += static_cast<double>(logit) * logit;
    const double deviation = std::sqrt(squares / 512);
    EXPECT_TRUE(std::isfinite(deviation));
    EXPECT_GT(deviation, 0.1);
    EXPECT_LT(deviation, 10);
  }
}

TEST(RandomModel, HasTheParametersAndBytesOfItsShape) {
  const auto loaded = make_random_model("tiny:f16", options_of_tests());
  ASSERT_TRUE(loaded.is_ok());
  constexpr int64_t kLayer = 256 * 256 * 2 + 2 * 128 * 256 + 3 * 256 * 512;
  EXPECT_EQ(loaded->model->parameters(), 2 * kLayer + 2 * 512 * 256);
  const WeightCost cost = weight_cost(*loaded->model);
  EXPECT_EQ(cost.bytes, 2.0 * 2 * kLayer);
  EXPECT_EQ(cost.head_bytes, 2.0 * 512 * 256);
}

TEST(RandomModel, WeightsThatAreAlikeAreMadeOnce) {
  const auto loaded = make_random_model("tiny:f16", options_of_tests());
  RandomWeights weights(loaded->model->spec(), *parse_random_format("q4_k_m"));
  const WantedWeight up{WeightPart::kUp, 0, 512, 256};
  WantedWeight gate = up;
  gate.part = WeightPart::kGate;
  gate.layer = 1;
  EXPECT_EQ(&weights.weight(up), &weights.weight(gate));
  const WantedWeight down{WeightPart::kDown, 0, 256, 512};
  EXPECT_NE(&weights.weight(up), &weights.weight(down));
  for (const WantedWeight& wanted : {up, down})
    EXPECT_EQ(weights.size_bytes(wanted), weights.weight(wanted).bytes.size());
}

TEST(RandomModel, IsToldApartByItsName) {
  ThreadPool pool(1);
  const Exec exec(pool);
  const auto a = make_random_model("tiny:f16", options_of_tests());
  const auto b = make_random_model("TINY:F16", options_of_tests());
  const auto c = make_random_model("tiny:bf16", options_of_tests());
  EXPECT_EQ(fingerprint(*a->model, exec), fingerprint(*b->model, exec));
  EXPECT_NE(fingerprint(*a->model, exec), fingerprint(*c->model, exec));
}

TEST(RandomModel, RefusesWhatItDoesNotKnow) {
  for (const char* text : {"", "8B", "9B:f16", ":f16"}) {
    const Status status = make_random_model(text, options_of_tests()).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), HasSubstr("70B"));
  }
  const Status status = make_random_model("tiny:q9", options_of_tests()).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("q4_k_m"));
}

TEST(RandomModel, TooLargeForTheMemoryIsSaidBeforeItIsTaken) {
  // 140 GB of f32; machines with so much free pass this by.
  const auto loaded = make_random_model("70B:f32", options_of_tests());
  if (loaded.is_ok()) GTEST_SKIP() << "this machine holds it";
  EXPECT_EQ(loaded.status().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace ingot

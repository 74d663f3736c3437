// SPDX-License-Identifier: Apache-2.0
// --batch-invariant on a GPU (INGOT_TEST_DEVICE=cuda): requests that run together, their prompts
// cut by a small budget, have the tokens and log-probabilities of their runs alone, bit for bit.
// On the processor engine_equality_test holds for every model, without a flag.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/engine_core.h"
#include "oracle_files.h"
#include "wanted_device.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kAnswer = 24;

struct Heard final : public RequestSink {
  void on_prompt(const PromptReport& /*report*/) override {}
  bool on_token(int32_t /*choice*/, TokenId /*id*/, const PositionLogprobs* logprobs) override {
    told.push_back(*logprobs);
    return true;
  }
  void on_finish(int32_t /*choice*/, FinishReason /*reason*/) override {}
  void on_end(const Status& status) override { end = status; }

  std::vector<PositionLogprobs> told;
  std::optional<Status> end;
};

class BatchInvariance : public ::testing::TestWithParam<fs::path> {
 protected:
  void load(ModelDtype dtype) {
    const auto checkpoint = Checkpoint::open(GetParam());
    ASSERT_TRUE(checkpoint.is_ok()) << checkpoint.status().message();
    ModelOptions options;
    options.dtype = dtype;
    options.is_batch_invariant = true;
    ASSERT_NO_FATAL_FAILURE(place_as_wanted(options));
    const auto model = Model::load(*checkpoint, options);
    ASSERT_TRUE(model.is_ok()) << model.status().message();
    model_ = *model;
  }

  // Greedy and drawn in turn; prompts on both sides of what kernels for few tokens take.
  std::vector<EngineRequest> make_requests(std::mt19937& random) const {
    std::vector<EngineRequest> requests;
    for (const int64_t length : {1, 3, 8, 20, 47, 66, 90, 100}) {
      EngineRequest& request = requests.emplace_back();
      for (int64_t i = 0; i < length; ++i)
        request.prompt.push_back(
            static_cast<TokenId>(random() % static_cast<uint64_t>(model_->spec().vocab)));
      request.max_tokens = kAnswer;
      request.sampling.temperature = requests.size() % 2 == 0 ? 0.0F : 1.0F;
      request.sampling.top_p = requests.size() % 3 == 0 ? 0.9F : 1.0F;
      request.sampling.seed = random();
      request.sampling.logprobs = 5;
    }
    return requests;
  }

  // All of them at once; returns how many steps it took.
  int64_t run(std::span<const EngineRequest> requests, KvCacheType type, int64_t step_tokens,
              std::span<Heard> heard) const {
    EngineOptions options;
    options.threads.threads = 1;
    options.context = 128;
    options.cache_type = type;
    options.kv_cache_memory = uint64_t{32} << 20;
    options.max_num_seqs = 8;
    options.max_num_batched_tokens = step_tokens;
    const auto core = EngineCore::create(model_, options);
    EXPECT_TRUE(core.is_ok()) << core.status().message();
    if (!core.is_ok()) return 0;
    for (size_t i = 0; i < requests.size(); ++i) {
      const std::shared_ptr<Heard> sink(&heard[i], [](Heard*) {});
      const Status added = (*core)->add(i, requests[i], sink, Instant(0));
      EXPECT_TRUE(added.is_ok()) << added.message();
    }
    int64_t steps = 0;
    while ((*core)->has_work())
      (*core)->step(Instant(++steps));
    return steps;
  }

  static void expect_equal(const Heard& together, const Heard& alone) {
    for (const Heard* heard : {&together, &alone}) {
      ASSERT_TRUE(heard->end.has_value());
      ASSERT_TRUE(heard->end->is_ok()) << heard->end->message();
      ASSERT_EQ(heard->told.size(), static_cast<size_t>(kAnswer));
    }
    for (size_t t = 0; t < alone.told.size(); ++t) {
      const PositionLogprobs& a = together.told[t];
      const PositionLogprobs& b = alone.told[t];
      ASSERT_EQ(a.id, b.id) << "token " << t;
      ASSERT_EQ(a.logprob, b.logprob) << "token " << t;
      ASSERT_TRUE(std::ranges::equal(
          a.top, b.top,
          [](const auto& x, const auto& y) { return x.id == y.id && x.logprob == y.logprob; }))
          << "alternatives of token " << t;
    }
  }

  std::shared_ptr<const Model> model_;
};

TEST_P(BatchInvariance, CompanyChangesNoTokenOnAGpu) {
  if (!wants_device()) GTEST_SKIP() << "needs a GPU: INGOT_TEST_DEVICE=cuda";
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  for (const ModelDtype dtype : {ModelDtype::kFloat, ModelDtype::kHalf, ModelDtype::kBFloat16}) {
    ASSERT_NO_FATAL_FAILURE(load(dtype));
    for (const KvCacheType type : {KvCacheType::kF32, KvCacheType::kF16, KvCacheType::kInt8}) {
      SCOPED_TRACE(
          fmt::format("seed {}, dtype {}, cache {}", seed, to_string(dtype), to_string(type)));
      const std::vector<EngineRequest> requests = make_requests(random);
      std::vector<Heard> together(requests.size());
      const int64_t steps = run(requests, type, 72, together);
      int64_t steps_alone = 0;
      for (size_t i = 0; i < requests.size(); ++i) {
        SCOPED_TRACE(fmt::format("request {}", i));
        Heard alone;
        steps_alone += run({&requests[i], 1}, type, 512, {&alone, 1});
        ASSERT_NO_FATAL_FAILURE(expect_equal(together[i], alone));
      }
      EXPECT_LT(steps, steps_alone / 2) << "they did not run together";
    }
  }
}

// Floats, windows, codes in panels, FP8 by tensor and by blocks, W8A8.
std::vector<fs::path> models() {
  std::vector<fs::path> folders;
  for (const fs::path& folder : testing::oracle_folders("models", "config.json")) {
    static const std::vector<std::string> kNames = {
        "public-llama-plain",          "public-gemma2",
        "public-bnb-nf4-double",       "public-gptq-4bit-g128-sym-act",
        "public-ct-w8a8-int8",         "public-fp8-block128",
        "public-ct-fp8-static-tensor", "public-ct-nvfp4"};
    if (std::ranges::find(kNames, folder.filename().string()) != kNames.end())
      folders.push_back(folder);
  }
  return folders;
}

INSTANTIATE_TEST_SUITE_P(Oracle, BatchInvariance, ::testing::ValuesIn(models()),
                         [](const auto& param) {
                           std::string name = param.param.filename().string();
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace ingot

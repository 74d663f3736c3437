// SPDX-License-Identifier: Apache-2.0
// What an engine does where its model is on a device: its defaults, sampling there, and sinks that
// hear of tokens while the next step runs. With INGOT_TEST_DEVICE=cuda on a GPU.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "api/text_engine.h"
#include "engine/solo.h"
#include "engine_harness.h"

namespace ingot {
namespace {

TEST(Engine, WhatIsNotSaidSuitsTheMachine) {
  const std::shared_ptr<const Model> model = tiny_model();
  const bool is_on_device = model->is_all_on_device();
  EngineFlags flags = settled({}, *model);
  EXPECT_EQ(flags.max_num_seqs, is_on_device ? 256 : 64);
  EXPECT_EQ(flags.max_num_batched_tokens >= 2048, is_on_device);
  EXPECT_EQ(flags.kv_cache_fraction, is_on_device ? 0.85 : 0.5);

  flags = {};
  flags.max_num_seqs = 1000;
  flags.kv_cache_fraction = 0.25;
  const EngineOptions options = *engine_options(flags, *model);
  EXPECT_EQ(options.max_num_seqs, 1000);
  EXPECT_GE(options.max_num_batched_tokens, 1000);  // every sequence has its token in a step
  EXPECT_EQ(options.kv_cache_fraction, 0.25);
}

// Solo reads all logits and samples on the processor, wherever the model is.
TEST(Engine, SamplesOnItsDeviceWhatSoloSamplesOnTheProcessor) {
  const auto model = tiny_model();
  EngineOptions options = small_options();
  options.cache_type = KvCacheType::kF32;
  options.has_prefix_cache = false;
  auto core = *EngineCore::create(model, options);
  auto solo = *Solo::create(model, {.threads = {.threads = 2}, .context = 128});
  std::vector<SamplingParams> all(8);
  all[0].temperature = 0;
  all[1] = {.temperature = 1.5F, .top_k = 0, .top_p = 0.9F, .min_p = 0};
  all[2] = {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0};
  all[3] = {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0.02F};
  all[4].repetition_penalty = 1.3F;
  all[4].frequency_penalty = 0.4F;
  all[4].logit_bias = {{7, 2.0F}, {9, -std::numeric_limits<float>::infinity()}};
  all[5].allowed_token_ids = {5, 6, 7, 50, 51, 120};
  all[6].typical_p = 0.8F;  // this and the next are no device's
  all[7].mirostat = 2;
  for (size_t i = 0; i < all.size(); ++i) {
    EngineRequest request = request_of({1, 20, static_cast<TokenId>(30 + i)}, 40);
    request.sampling = all[i];
    request.sampling.seed = 40 + i;
    request.sampling.logprobs = 5;
    request.n = i % 2 == 0 ? 1 : 2;
    const auto heard = run(*core, request);
    ASSERT_TRUE(heard->end->is_ok()) << heard->end->message();
    for (int32_t choice = 0; choice < request.n; ++choice) {
      SoloRequest alone;
      alone.prompt = request.prompt;
      alone.max_tokens = 40;
      alone.sampling = request.sampling;
      alone.logprobs = 5;
      alone.choice = static_cast<uint32_t>(choice);
      const auto truth = solo->generate(alone);
      ASSERT_TRUE(truth.is_ok()) << truth.status().message();
      EXPECT_EQ(heard->ids[static_cast<size_t>(choice)], truth->ids) << "params " << i;
      if (request.n > 1 || HasFailure()) continue;
      ASSERT_EQ(heard->told.size(), truth->logprobs.size());
      for (size_t t = 0; t < heard->told.size(); ++t) {
        const PositionLogprobs& told = heard->told[t];
        EXPECT_EQ(told.id, truth->logprobs[t].id);
        EXPECT_NEAR(told.logprob, truth->logprobs[t].logprob, 1e-5);
        ASSERT_EQ(told.top.size(), 5U);
        for (size_t j = 0; j < 5; ++j)
          EXPECT_EQ(told.top[j].id, truth->logprobs[t].top[j].id);
      }
    }
  }
}

// Writes down what it hears; wants so many tokens of an answer.
class Scribe final : public RequestSink {
 public:
  explicit Scribe(size_t wanted) : wanted_(wanted) {}
  void on_prompt(const PromptReport& report) override {
    heard.push_back(fmt::format("prompt {}", report.tokens));
  }
  bool on_token(int32_t choice, TokenId id, const PositionLogprobs* logprobs) override {
    heard.push_back(fmt::format("{} {} {}", choice, id, logprobs->logprob));
    return ++tokens_[choice] < wanted_;
  }
  void on_finish(int32_t choice, FinishReason reason) override {
    heard.push_back(fmt::format("{} {}", choice, to_string(reason)));
  }
  void on_end(const Status& status) override {
    heard.push_back(fmt::format("end {}", status.message()));
  }

  std::vector<std::string> heard;

 private:
  size_t wanted_;
  std::map<int32_t, size_t> tokens_;
};

std::vector<std::vector<std::string>> write_down(bool tells_late, Fault fault) {
  EngineOptions options = small_options();
  options.tells_late = tells_late;
  options.fault = fault;
  auto core = *EngineCore::create(tiny_model(), options);
  std::vector<std::shared_ptr<Scribe>> scribes;
  const auto add = [&](size_t wanted, int64_t max_tokens, int32_t n, int64_t timeout) {
    const auto id = static_cast<TokenId>(scribes.size());
    EngineRequest request = request_of({1, 20, 30 + id}, max_tokens);
    request.sampling.temperature = 1;
    request.sampling.logprobs = 0;
    request.sampling.eos_ids = {4, 5, 6, 7, 8, 9};  // some end by themselves
    request.n = n;
    if (timeout > 0) request.timeout = std::chrono::nanoseconds(timeout);
    scribes.push_back(std::make_shared<Scribe>(wanted));
    EXPECT_TRUE(core->add(id, request, scribes.back(), Instant(0)).is_ok());
  };
  for (const size_t wanted : {size_t{1}, size_t{2}, size_t{3}, size_t{5}, size_t{100}}) {
    for (const int64_t max_tokens : {0, 1, 2, 5, 30})
      add(wanted, max_tokens, max_tokens == 30 ? 3 : 1, 0);
    add(wanted, 30, 2, 3);
    add(wanted, 30, 1, 6);
    add(wanted, 30, 2, 0);  // cancelled
  }
  for (int64_t step = 1; core->has_work(); ++step) {
    core->step(Instant(step));
    if (step != 4) continue;
    for (size_t i = 7; i < scribes.size(); i += 8)
      core->cancel(static_cast<RequestId>(i));
  }
  std::vector<std::vector<std::string>> all;
  for (const auto& scribe : scribes) {
    std::ranges::stable_sort(scribe->heard, {}, [](const std::string& line) {
      // Answers side by side may be told of in any order, as long as each hears its own in order.
      return std::isdigit(static_cast<unsigned char>(line[0])) ? line[0]
                                                               : (line[0] == 'p' ? 0 : 127);
    });
    all.push_back(scribe->heard);
  }
  return all;
}

TEST(Engine, WhoIsToldLateHearsTheSame) {
  EXPECT_EQ(write_down(false, {}), write_down(true, {}));
  // Who has had enough before a step fails has ended well.
  for (const int64_t at : {2, 3, 4}) {
    const Fault fault{Fault::Kind::kStepFail, at};
    EXPECT_EQ(write_down(false, fault), write_down(true, fault)) << at;
  }
}

TEST(Engine, WhoIsToldLateAndPausedHearsAllThereIs) {
  EngineOptions options = small_options();
  options.tells_late = true;
  auto core = *EngineCore::create(tiny_model(), options);
  const auto heard = std::make_shared<Heard>();
  ASSERT_TRUE(core->add(1, request_of({1, 20, 30}, 20), heard, Instant(0)).is_ok());
  core->step(Instant(1));
  core->step(Instant(2));
  core->pause(1);
  ASSERT_TRUE(core->can_step());
  EXPECT_FALSE(core->step(Instant(3)));
  EXPECT_FALSE(core->can_step());
  ASSERT_EQ(heard->ids.size(), 1U);
  EXPECT_EQ(heard->ids[0].size(), 2U);
  core->resume(1);
  for (int64_t step = 4; core->has_work(); ++step)
    core->step(Instant(step));
  EXPECT_EQ(heard->ids[0].size(), 20U);
}

// The next step has begun with a token that was none: it is dropped, and the host looks.
TEST(Engine, WhoseNextTokenADeviceCannotSayIsAskedOnTheHost) {
  EngineOptions options = small_options();
  options.tells_late = options.runs_ahead = true;
  auto core = *EngineCore::create(tiny_model(), options);
  const auto none = std::make_shared<Heard>();
  const auto other = std::make_shared<Heard>();
  EngineRequest request = request_of({1, 20, 30}, 20);
  request.sampling.allowed_token_ids = {5};
  request.sampling.bad_words = {{5}};
  ASSERT_TRUE(core->add(1, request, none, Instant(0)).is_ok());
  ASSERT_TRUE(core->add(2, request_of({1, 20, 31}, 20), other, Instant(0)).is_ok());
  for (int64_t step = 1; core->has_work(); ++step)
    core->step(Instant(step));
  ASSERT_TRUE(none->end.has_value() && other->end.has_value());
  EXPECT_EQ(none->end->code(), StatusCode::kInvalidArgument) << none->end->message();
  EXPECT_TRUE(other->end->is_ok());
  EXPECT_EQ(other->ids[0].size(), 20U);
  EXPECT_GT(core->stats().steps_ahead, 10);
}

}  // namespace
}  // namespace ingot

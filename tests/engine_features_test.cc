// SPDX-License-Identifier: Apache-2.0
// What the engine does for a request beyond choosing tokens: beams, cancels, deadlines, caches that
// outlive it, and text with stop strings. On tiny and the embedded model.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <map>
#include <numeric>
#include <semaphore>
#include <thread>

#include "api/text_engine.h"
#include "engine/engine.h"
#include "engine/engine_core.h"
#include "engine/solo.h"
#include "wanted_device.h"

namespace ingot {
namespace {

std::shared_ptr<const Model> tiny_model() {
  const auto checkpoint = Checkpoint::open(std::filesystem::path(INGOT_SOURCE_DIR) /
                                           "tests/oracle/models/public-llama-plain");
  ModelOptions options;
  place_as_wanted(options);
  return *Model::load(*checkpoint, options);
}

struct Heard final : public RequestSink {
  void on_prompt(const PromptReport& report) override { prompt = report; }
  bool on_token(int32_t choice, TokenId id, const PositionLogprobs* logprobs) override {
    ids.resize(std::max(ids.size(), static_cast<size_t>(choice) + 1));
    ids[static_cast<size_t>(choice)].push_back(id);
    if (logprobs != nullptr) {
      sum += logprobs->logprob;
      told.push_back(*logprobs);
    }
    return true;
  }
  void on_embedding(std::span<const float> values) override {
    embedding.assign(values.begin(), values.end());
  }
  void on_finish(int32_t /*choice*/, FinishReason reason) override { reasons.push_back(reason); }
  void on_end(const Status& status) override { end = status; }

  PromptReport prompt;
  std::vector<std::vector<TokenId>> ids;
  std::vector<FinishReason> reasons;
  std::vector<float> embedding;
  double sum = 0;
  std::vector<PositionLogprobs> told;
  std::optional<Status> end;
};

EngineOptions small_options() {
  EngineOptions options;
  options.threads.threads = 2;
  options.context = 128;
  options.kv_cache_memory = uint64_t{32} << 20;
  return options;
}

EngineRequest request_of(std::vector<TokenId> prompt, int64_t max_tokens) {
  EngineRequest request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.sampling.temperature = 0;
  return request;
}

std::shared_ptr<Heard> run(EngineCore& core, EngineRequest request) {
  auto heard = std::make_shared<Heard>();
  static RequestId next = 1000;
  const Status added = core.add(next++, std::move(request), heard, Instant(0));
  EXPECT_TRUE(added.is_ok()) << added.message();
  for (int64_t step = 1; core.has_work(); ++step)
    core.step(Instant(step));
  return heard;
}

// How likely an answer is, from the log-probabilities of its tokens as a prompt.
double logprob_of(EngineCore& core, std::vector<TokenId> prompt, const std::vector<TokenId>& ids) {
  const size_t begin = prompt.size();
  prompt.insert(prompt.end(), ids.begin(), ids.end());
  EngineRequest request = request_of(prompt, 0);
  request.sampling.prompt_logprobs = 0;
  const auto heard = run(core, request);
  double sum = 0;
  for (size_t i = begin; i < prompt.size(); ++i)
    sum += heard->prompt.logprobs[i]->logprob;
  return sum;
}

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

TEST(Engine, ScoresTheEndOfAPromptAlikeWithItsBeginningFromTheCache) {
  auto core = *EngineCore::create(tiny_model(), small_options());
  std::vector<TokenId> prompt(60);
  for (size_t i = 0; i < prompt.size(); ++i)
    prompt[i] = static_cast<TokenId>(3 + i * 7 % 200);
  EngineRequest request = request_of(prompt, 0);
  request.sampling.prompt_logprobs = 0;
  const auto whole = run(*core, request);
  EXPECT_EQ(whole->prompt.reused_tokens, 0);
  for (const int32_t from : {0, 1, 2, 37, 59, 60, 1000}) {
    request.sampling.prompt_logprobs_from = from;
    const auto part = run(*core, request);
    ASSERT_TRUE(part->end->is_ok());
    const int64_t first = std::clamp<int64_t>(from, 1, 60);
    EXPECT_EQ(part->prompt.reused_tokens, first - 1) << "the row before the first told token";
    ASSERT_EQ(part->prompt.logprobs.size(), prompt.size());
    for (size_t i = 0; i < prompt.size(); ++i) {
      ASSERT_EQ(part->prompt.logprobs[i].has_value(), static_cast<int64_t>(i) >= first);
      if (!part->prompt.logprobs[i]) continue;
      EXPECT_EQ(part->prompt.logprobs[i]->logprob, whole->prompt.logprobs[i]->logprob);
    }
  }
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

TEST(Engine, BeamSearchFindsAtLeastWhatGreedyFinds) {
  auto core = *EngineCore::create(tiny_model(), small_options());
  for (TokenId seed = 3; seed < 9; ++seed) {
    const std::vector<TokenId> prompt{seed, 17, 250, seed};
    const auto greedy = run(*core, request_of(prompt, 6));
    EngineRequest request = request_of(prompt, 6);
    request.beam = BeamParams{.width = 6};
    request.n = 3;
    const auto beams = run(*core, request);
    ASSERT_TRUE(beams->end->is_ok()) << beams->end->message();
    ASSERT_EQ(beams->ids.size(), 3U);
    double last = 0;
    for (size_t i = 0; i < 3; ++i) {
      ASSERT_EQ(beams->ids[i].size(), 6U);
      const double sum = logprob_of(*core, prompt, beams->ids[i]);
      if (i > 0) {
        EXPECT_LE(sum, last + 1e-4) << "beams are not in order";
      }
      last = sum;
    }
    EXPECT_GE(logprob_of(*core, prompt, beams->ids[0]),
              logprob_of(*core, prompt, greedy->ids[0]) - 1e-4);
  }
  EXPECT_FALSE(core->has_work());
}

TEST(Engine, BeamsSurviveACacheThatHardlyHoldsThem) {
  EngineOptions options = small_options();
  auto plenty = *EngineCore::create(tiny_model(), options);
  options.max_num_seqs = 4;  // fewer seats than beams and their forks would like
  options.kv_cache_memory = uint64_t{1} << 12;
  auto tight = EngineCore::create(tiny_model(), options);
  while (!tight.is_ok()) {
    options.kv_cache_memory += options.kv_cache_memory / 8;
    tight = EngineCore::create(tiny_model(), options);
  }
  EngineRequest request = request_of({5, 6, 7, 8, 9}, 100);
  request.beam = BeamParams{.width = 4};
  EXPECT_EQ(run(**tight, request)->ids, run(*plenty, request)->ids);
}

TEST(Engine, SixtyFourRequestsFinishInACacheForFour) {
  EngineOptions options = small_options();
  options.has_prefix_cache = false;  // nothing is shared: only preemption helps
  const auto model = tiny_model();
  auto alone = *EngineCore::create(model, options);
  std::vector<EngineRequest> requests;
  std::vector<std::vector<std::vector<TokenId>>> expected;
  for (TokenId i = 0; i < 64; ++i) {
    EngineRequest request = request_of({i, 9, 8, 7}, 123);  // each fills the context
    request.sampling.temperature = 1;
    request.sampling.seed = static_cast<uint64_t>(i);
    expected.push_back(run(*alone, request)->ids);
    requests.push_back(std::move(request));
  }
  const CacheGroup group = cache_groups(model->spec(), options.cache_type, options.page_tokens)[0];
  options.kv_cache_memory = static_cast<uint64_t>(group.page_bytes) * 4 * 9;
  auto core = *EngineCore::create(model, options);
  std::vector<std::shared_ptr<Heard>> heard;
  for (const EngineRequest& request : requests) {
    heard.push_back(std::make_shared<Heard>());
    ASSERT_TRUE(
        core->add(static_cast<RequestId>(heard.size()), request, heard.back(), Instant(0)).is_ok());
  }
  for (int64_t step = 1; core->has_work(); ++step)
    core->step(Instant(step));
  for (size_t i = 0; i < heard.size(); ++i)
    EXPECT_EQ(heard[i]->ids, expected[i]) << "request " << i;
  EXPECT_GT(core->stats().scheduler.preemptions, 0);
}

TEST(Engine, CancelEndsARequestBeforeItsNextToken) {
  auto core = *EngineCore::create(tiny_model(), small_options());
  const auto heard = std::make_shared<Heard>();
  ASSERT_TRUE(core->add(1, request_of({1, 2, 3}, 100), heard, Instant(0)).is_ok());
  for (int i = 0; i < 5; ++i)
    core->step(Instant(i));
  core->cancel(1);
  EXPECT_FALSE(core->has_work());
  EXPECT_EQ(heard->ids[0].size(), 5U);
  EXPECT_EQ(heard->reasons, std::vector{FinishReason::kCancelled});
  EXPECT_TRUE(heard->end->is_ok());
}

TEST(Engine, APausedRequestGoesOnAsIfNothingHadHappened) {
  const auto model = tiny_model();
  auto core = *EngineCore::create(model, small_options());
  EngineRequest request = request_of({1, 2, 3}, 40);
  request.sampling.temperature = 1;
  request.n = 2;
  const auto expected = run(*core, request)->ids;
  const auto paused = std::make_shared<Heard>();
  const auto other = std::make_shared<Heard>();
  ASSERT_TRUE(core->add(1, request, paused, Instant(0)).is_ok());
  ASSERT_TRUE(core->add(2, request_of({4, 5, 6}, 30), other, Instant(0)).is_ok());
  for (int i = 0; i < 7; ++i)
    core->step(Instant(i));
  core->pause(1);
  while (core->can_step())
    core->step(Instant(9));
  EXPECT_EQ(paused->ids[0].size(), 7U);
  EXPECT_EQ(other->ids[0].size(), 30U);
  EXPECT_FALSE(core->step(Instant(9)));
  EXPECT_TRUE(core->has_work());
  core->resume(1);
  while (core->has_work())
    ASSERT_TRUE(core->step(Instant(10)));
  EXPECT_EQ(paused->ids, expected);
}

TEST(Engine, BeamsCanBePaused) {
  auto core = *EngineCore::create(tiny_model(), small_options());
  EngineRequest request = request_of({5, 6, 7, 8, 9}, 30);
  request.beam = BeamParams{.width = 4};
  const auto expected = run(*core, request)->ids;
  const auto heard = std::make_shared<Heard>();
  ASSERT_TRUE(core->add(1, request, heard, Instant(0)).is_ok());
  for (int64_t now = 0; core->has_work(); ++now) {
    core->step(Instant(now));
    core->pause(1);
    ASSERT_FALSE(core->can_step());
    core->resume(1);
  }
  EXPECT_EQ(heard->ids, expected);
}

TEST(Engine, EndsARequestAtItsDeadline) {
  auto core = *EngineCore::create(tiny_model(), small_options());
  const auto heard = std::make_shared<Heard>();
  EngineRequest request = request_of({1, 2, 3}, 100);
  request.timeout = std::chrono::nanoseconds(10);
  ASSERT_TRUE(core->add(1, request, heard, Instant(5)).is_ok());
  for (int64_t now = 6; now < 30; ++now)
    core->step(Instant(now));
  EXPECT_EQ(heard->reasons, std::vector{FinishReason::kDeadline});
  EXPECT_EQ(heard->ids[0].size(), 9U);  // steps at 6 ... 14
}

TEST(Engine, EmbeddingsOfTheLastTokenReuseThePrefixAndThoseOfAllTokensDoNot) {
  auto core = *EngineCore::create(tiny_model(), small_options());
  EngineRequest request = request_of(std::vector<TokenId>(40, 11), 5);
  for (const Pooling pooling : {Pooling::kMean, Pooling::kLast}) {
    ++request.prompt[0];  // nothing is cached of it
    request.pooling = pooling;
    const auto cold = run(*core, request);
    const auto warm = run(*core, request);
    ASSERT_TRUE(cold->end->is_ok()) << cold->end->message();
    EXPECT_EQ(cold->embedding.size(), static_cast<size_t>(core->model().spec().hidden));
    EXPECT_EQ(warm->embedding, cold->embedding);
    EXPECT_EQ(warm->prompt.tokens, 40);
    EXPECT_EQ(warm->prompt.reused_tokens, pooling == Pooling::kLast ? 39 : 0);
    EXPECT_TRUE(warm->ids.empty() && warm->reasons.empty());
  }
  EXPECT_EQ(core->stats().generated_tokens, 0);
  request.n = 2;
  EXPECT_THAT(core->add(1, request, std::make_shared<Heard>(), Instant(0)).message(),
              ::testing::HasSubstr("pooling"));
}

TEST(Engine, CountsWhatItDoes) {
  EngineOptions options = small_options();
  options.max_num_batched_tokens = 64;
  auto core = *EngineCore::create(tiny_model(), options);
  EXPECT_EQ(core->stats().kv_usage, 0);
  const auto heard = std::make_shared<Heard>();
  ASSERT_TRUE(core->add(1, request_of(std::vector<TokenId>(100, 5), 9), heard, Instant(0)).is_ok());
  core->step(Instant(1));
  EngineStats stats = core->stats();
  EXPECT_EQ(stats.requests, 1);
  EXPECT_EQ(stats.scheduler.running, 1);
  EXPECT_GT(stats.kv_usage, 0);
  EXPECT_LT(stats.kv_usage, 1);
  while (core->has_work())
    core->step(Instant(2));
  stats = core->stats();
  EXPECT_EQ(stats.steps, 2 + 8);  // two chunks of the prompt, the second with the first token
  EXPECT_EQ(stats.step_tokens.count, stats.steps);
  EXPECT_EQ(stats.step_tokens.sum, 100 + 8);
  EXPECT_EQ(stats.computed_tokens, 100 + 8);
  EXPECT_EQ(stats.step_tokens.counts[0], 8);  // single tokens
  EXPECT_EQ(stats.step_seconds.count, stats.steps);
  EXPECT_GT(stats.last_step_seconds, 0);
  EXPECT_LE(stats.last_step_seconds, stats.step_seconds.sum);
  EXPECT_LE(stats.last_step_end, std::chrono::steady_clock::now());
  EXPECT_EQ(stats.generated_tokens, 9);
  EXPECT_EQ(stats.kv_usage, 0);  // what is left is only cached
  EXPECT_GT(stats.scheduler.pages_cached[0], 0);

  run(*core, request_of(std::vector<TokenId>(100, 5), 1));
  stats = core->stats();
  EXPECT_EQ(stats.scheduler.prompt_tokens, 200);
  EXPECT_EQ(stats.scheduler.reused_tokens, 99);
  EXPECT_EQ(stats.prefixes.tokens_asked, 99 + 99);
  EXPECT_EQ(stats.prefixes.tokens_reused, 99);
  EXPECT_EQ(stats.prefixes.tokens_loaded, 0);

  EngineRequest request = request_of({1, 2, 3}, 9);
  ASSERT_TRUE(core->add(2, request, heard, Instant(3)).is_ok());
  core->cancel(2);
  request.timeout = std::chrono::nanoseconds(1);
  ASSERT_TRUE(core->add(3, request, heard, Instant(3)).is_ok());
  core->step(Instant(9));
  stats = core->stats();
  EXPECT_EQ(stats.finished_requests, 4);
  EXPECT_EQ(stats.cancelled_requests, 1);
  EXPECT_EQ(stats.expired_requests, 1);
  EXPECT_EQ(stats.failed_requests, 0);
  EXPECT_EQ(stats.requests, 0);
}

// Adds requests 1 ... n of their own prompts and runs until all have ended.
std::vector<std::shared_ptr<Heard>> run_all(EngineCore& core,
                                            const std::vector<EngineRequest>& requests) {
  std::vector<std::shared_ptr<Heard>> heard;
  for (const EngineRequest& request : requests) {
    heard.push_back(std::make_shared<Heard>());
    EXPECT_TRUE(
        core.add(static_cast<RequestId>(heard.size()), request, heard.back(), Instant(0)).is_ok());
  }
  for (int64_t step = 1; core.has_work(); ++step)
    core.step(Instant(step));
  return heard;
}

int64_t free_pages(const EngineCore& core) {
  return core.stats().scheduler.pages_free[0];
}

TEST(Engine, AStepThatFailsEndsTheRequestsOfItsBatchAlone) {
  const auto model = tiny_model();
  EngineOptions options = small_options();
  options.has_prefix_cache = false;
  auto healthy = *EngineCore::create(model, options);
  const auto expected = run(*healthy, request_of({7, 8, 9}, 20))->ids;
  options.fault = {Fault::Kind::kStepFail, 5};
  auto core = *EngineCore::create(model, options);
  const int64_t free = free_pages(*core);
  std::vector<std::shared_ptr<Heard>> heard;
  for (RequestId id = 0; id < 3; ++id) {
    EngineRequest request = request_of({7, 8, 9}, 20);
    if (id == 1) request.n = 3;
    heard.push_back(std::make_shared<Heard>());
    ASSERT_TRUE(core->add(id, request, heard.back(), Instant(0)).is_ok());
  }
  core->step(Instant(1));
  core->pause(2);  // not in the batch that fails
  for (int64_t step = 2; step < 6; ++step)
    core->step(Instant(step));
  EXPECT_EQ(heard[0]->end->code(), StatusCode::kInternal);
  EXPECT_EQ(heard[1]->end->code(), StatusCode::kInternal);
  EXPECT_FALSE(heard[2]->end.has_value());
  EXPECT_EQ(heard[0]->ids[0].size(), 4U);
  core->resume(2);
  while (core->has_work())
    core->step(Instant(9));
  EXPECT_TRUE(heard[2]->end->is_ok());
  EXPECT_EQ(heard[2]->ids, expected);
  EXPECT_EQ(free_pages(*core), free);
  EXPECT_EQ(run(*core, request_of({7, 8, 9}, 20))->ids, expected);
  EXPECT_EQ(core->stats().failed_steps, 1);
  EXPECT_EQ(core->stats().failed_requests, 2);
  EXPECT_EQ(core->stats().corrupted_requests, 0);
}

TEST(Engine, AStepWithoutMemoryFailsTheNewestPromptAndNobodyElse) {
  const auto model = tiny_model();
  EngineOptions options = small_options();
  options.max_num_batched_tokens = 64;
  const std::vector<TokenId> long_prompt(100, 42);
  const EngineRequest last = request_of(long_prompt, 10);
  std::vector<EngineRequest> requests;
  for (TokenId first = 1; first <= 7; ++first)
    requests.push_back(request_of({first, 8, 9}, 20));
  requests[2].n = 3;
  std::vector<std::vector<std::vector<TokenId>>> expected;
  for (const EngineRequest& request : requests)
    expected.push_back(run(**EngineCore::create(model, options), request)->ids);
  for (const int64_t at : {2, 3, 4, 8}) {
    SCOPED_TRACE(at);
    options.fault = {Fault::Kind::kStepOom, at};
    auto core = *EngineCore::create(model, options);
    std::vector<std::shared_ptr<Heard>> heard;
    RequestId id = 0;
    for (const EngineRequest& request : requests) {
      heard.push_back(std::make_shared<Heard>());
      ASSERT_TRUE(core->add(++id, request, heard.back(), Instant(0)).is_ok());
    }
    core->step(Instant(1));
    const auto newest = std::make_shared<Heard>();
    ASSERT_TRUE(core->add(++id, last, newest, Instant(1)).is_ok());
    for (int64_t step = 2; core->has_work(); ++step)
      core->step(Instant(step));
    // Its prompt takes steps 2 and 3; from then on it is the last of those that decode.
    EXPECT_EQ(newest->end->code(), StatusCode::kResourceExhausted);
    for (size_t i = 0; i < heard.size(); ++i) {
      EXPECT_TRUE(heard[i]->end->is_ok()) << i;
      EXPECT_EQ(heard[i]->ids, expected[i]) << i;
    }
    EXPECT_EQ(core->stats().failed_steps, 1);
    EXPECT_EQ(core->stats().failed_requests, 1);
    EXPECT_TRUE(core->lost().is_ok());
    EXPECT_EQ(run(*core, requests[0])->ids, expected[0]);
  }
}

TEST(Engine, ALostDeviceEndsEveryRequestAndTakesNoMore) {
  EngineOptions options = small_options();
  options.fault = {Fault::Kind::kStepLost, 3};
  auto core = *EngineCore::create(tiny_model(), options);
  const auto heard = [] { return std::make_shared<Heard>(); };
  const auto running = heard();
  const auto paused = heard();
  ASSERT_TRUE(core->add(1, request_of({1, 2}, 20), running, Instant(0)).is_ok());
  ASSERT_TRUE(core->add(2, request_of({3, 4}, 20), paused, Instant(0)).is_ok());
  core->step(Instant(1));
  core->pause(2);
  core->step(Instant(2));
  EXPECT_TRUE(core->lost().is_ok());
  core->step(Instant(3));
  for (const auto& one : {running, paused}) {
    ASSERT_TRUE(one->end.has_value());
    EXPECT_EQ(one->end->code(), StatusCode::kInternal);
    EXPECT_THAT(one->end->message(), ::testing::HasSubstr("the device is lost"));
    EXPECT_TRUE(one->reasons.empty());  // no answer came to its end
  }
  EXPECT_FALSE(core->lost().is_ok());
  EXPECT_FALSE(core->has_work());
  EXPECT_EQ(core->add(3, request_of({1, 2}, 20), heard(), Instant(4)).message(),
            core->lost().message());
  EXPECT_EQ(core->stats().failed_requests, 2);
}

TEST(Engine, FaultsOfAGpuNeedOne) {
  for (const Fault::Kind kind : {Fault::Kind::kCudaOom, Fault::Kind::kCudaSticky}) {
    EngineOptions options = small_options();
    options.fault = {kind, 1};
    const auto core = EngineCore::create(tiny_model(), options);
    EXPECT_EQ(core.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(core.status().message(), ::testing::HasSubstr("no CUDA device"));
  }
}

TEST(Engine, AFailedPromptLeavesNothingInTheCacheThatWasNotComputed) {
  const auto model = tiny_model();
  EngineOptions options = small_options();
  options.max_num_batched_tokens = 64;
  const EngineRequest request = request_of(std::vector<TokenId>(100, 42), 10);
  const auto expected = run(**EngineCore::create(model, options), request)->ids;
  options.fault = {Fault::Kind::kStepFail, 2};
  auto core = *EngineCore::create(model, options);
  EXPECT_EQ(run(*core, request)->end->code(), StatusCode::kInternal);
  const auto again = run(*core, request);
  EXPECT_EQ(again->prompt.reused_tokens, 64);
  EXPECT_EQ(again->ids, expected);
}

TEST(Engine, LogitsThatAreNoNumbersEndTheirRequestAlone) {
  const auto model = tiny_model();
  EngineOptions options = small_options();
  const auto expected = run(**EngineCore::create(model, options), request_of({2, 3}, 9))->ids;
  for (const int64_t at : {1, 4}) {
    options.fault = {Fault::Kind::kNanLogits, at};
    auto core = *EngineCore::create(model, options);
    const auto heard = run_all(*core, {request_of({1, 2}, 9), request_of({2, 3}, 9)});
    EXPECT_EQ(heard[0]->end->code(), StatusCode::kInternal);
    EXPECT_THAT(heard[0]->end->message(), ::testing::HasSubstr("not finite"));
    EXPECT_EQ(heard[0]->ids.empty() ? 0U : heard[0]->ids[0].size(), static_cast<size_t>(at - 1));
    EXPECT_TRUE(heard[1]->end->is_ok());
    EXPECT_EQ(heard[1]->ids, expected);
    EXPECT_EQ(core->stats().corrupted_requests, 1);
    EXPECT_EQ(core->stats().failed_requests, 1);
  }
}

TEST(Engine, LogitsThatAreNoNumbersEndScoredPromptsAndBeamsToo) {
  EngineOptions options = small_options();
  options.fault = {Fault::Kind::kNanLogits, 1};
  EngineRequest scored = request_of({1, 2, 3, 4}, 3);
  scored.sampling.prompt_logprobs = 1;
  EngineRequest beams = request_of({1, 2, 3, 4}, 3);
  beams.beam = BeamParams{.width = 2};
  for (const EngineRequest& request : {scored, beams}) {
    auto core = *EngineCore::create(tiny_model(), options);
    const auto heard = run(*core, request);
    EXPECT_EQ(heard->end->code(), StatusCode::kInternal);
    EXPECT_TRUE(heard->ids.empty());
    EXPECT_EQ(core->stats().corrupted_requests, 1);
  }
}

TEST(Engine, AResetForgetsCachedPrefixesInAllTiers) {
  EngineOptions options = small_options();
  options.host_cache_bytes = 1 << 20;
  auto core = *EngineCore::create(tiny_model(), options);
  const EngineRequest request = request_of(std::vector<TokenId>(50, 3), 30);
  const auto expected = run(*core, request)->ids;
  EXPECT_EQ(run(*core, request)->prompt.reused_tokens, 49);
  core->reset_prefixes();
  EXPECT_EQ(core->stats().prefixes.nodes, 0);
  EXPECT_EQ(core->stats().scheduler.pages_free, core->stats().scheduler.pages_total);
  EXPECT_EQ(run(*core, request)->prompt.reused_tokens, 0);

  const auto heard = std::make_shared<Heard>();  // what runs is left alone
  ASSERT_TRUE(core->add(1, request, heard, Instant(0)).is_ok());
  for (int64_t step = 1; core->has_work(); ++step) {
    core->step(Instant(step));
    core->reset_prefixes();
  }
  EXPECT_EQ(heard->ids, expected);
}

// Waits on the engine thread, in the middle of a step, for the test to do something meanwhile.
class WaitingSink final : public RequestSink {
 public:
  explicit WaitingSink(int token) : token_(token) {}
  void on_prompt(const PromptReport& /*report*/) override {}
  bool on_token(int32_t /*choice*/, TokenId /*id*/, const PositionLogprobs* /*logprobs*/) override {
    if (++tokens_ == token_) {
      reached.release();
      go_on.acquire();
    }
    return true;
  }
  void on_finish(int32_t /*choice*/, FinishReason reason) override { reason_ = reason; }
  void on_end(const Status& /*status*/) override { ended.release(); }

  std::binary_semaphore reached{0}, go_on{0}, ended{0};
  int tokens() const { return tokens_; }
  std::optional<FinishReason> reason() const { return reason_; }

 private:
  const int token_;
  int tokens_ = 0;
  std::optional<FinishReason> reason_;
};

TEST(Engine, CancelLetsOnlyTheStepThatRunsGoOnAndGivesAllPagesBack) {
  EngineOptions options = small_options();
  options.has_prefix_cache = false;
  auto engine = *Engine::create(tiny_model(), options);
  const std::vector<int64_t> free = engine->stats().scheduler.pages_free;
  const auto sink = std::make_shared<WaitingSink>(5);
  const RequestId id = *engine->submit(request_of({1, 2, 3}, 100), sink);
  sink->reached.acquire();
  engine->cancel(id);
  sink->go_on.release();
  sink->ended.acquire();
  EXPECT_EQ(sink->tokens(), 5);
  EXPECT_EQ(sink->reason(), FinishReason::kCancelled);
  while (engine->progress().has_work)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(engine->stats().steps, 5);
  EXPECT_EQ(engine->stats().scheduler.pages_free, free);
  EXPECT_EQ(engine->stats().cancelled_requests, 1);
}

TEST(Engine, AFullQueueIsToldApartFromOtherErrors) {
  auto engine = *Engine::create(tiny_model(), small_options(), /*max_queued=*/1);
  const auto first = std::make_shared<WaitingSink>(1);
  ASSERT_TRUE(engine->submit(request_of({1, 2, 3}, 5), first).is_ok());
  first->reached.acquire();
  const auto second = std::make_shared<WaitingSink>(0);
  const auto refused = engine->submit(request_of({1, 2, 3}, 5), second);
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  first->go_on.release();
  first->ended.acquire();
  ASSERT_TRUE(engine->submit(request_of({1, 2, 3}, 5), second).is_ok());
  second->ended.acquire();
}

TEST(Engine, RefusesWhatCanNeverRunAndNamesTheField) {
  auto core = *EngineCore::create(tiny_model(), small_options());
  const auto message = [&](EngineRequest request) {
    return core->add(1, std::move(request), std::make_shared<Heard>(), Instant(0)).message();
  };
  EXPECT_THAT(message(request_of({}, 1)), ::testing::HasSubstr("prompt is empty"));
  EXPECT_THAT(message(request_of({1 << 20}, 1)), ::testing::HasSubstr("outside the vocabulary"));
  EXPECT_THAT(message(request_of(std::vector<TokenId>(129, 1), 1)),
              ::testing::HasSubstr("--ctx-size"));
  EngineRequest request = request_of({1}, 1);
  request.n = 1000;
  EXPECT_THAT(message(request), ::testing::HasSubstr("n is 1000"));
  request = request_of({1}, 1);
  request.sampling.top_p = 7;
  EXPECT_THAT(message(request), ::testing::HasSubstr("top_p"));
}

TEST(Engine, PrefixesOnDiskOutliveTheProcess) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / fmt::format("ingot-prefixes-{}", ::getpid());
  std::filesystem::remove_all(folder);
  EngineOptions options = small_options();
  options.disk_cache_directory = folder.string();
  std::vector<TokenId> prompt(64);
  for (size_t i = 0; i < prompt.size(); ++i)
    prompt[i] = static_cast<TokenId>(i * 7 % 500);
  std::vector<std::vector<TokenId>> first;
  {
    auto core = *EngineCore::create(tiny_model(), options);
    first = run(*core, request_of(prompt, 20))->ids;
    core->save_prefixes();
  }
  {
    auto core = *EngineCore::create(tiny_model(), options);
    const auto again = run(*core, request_of(prompt, 20));
    EXPECT_EQ(again->prompt.reused_tokens, 63);
    EXPECT_EQ(core->stats().prefixes.tokens_loaded, 63);
    EXPECT_EQ(again->ids, first);
  }
  {
    options.cache_type = KvCacheType::kInt8;  // another cache: not a page of the old one is used
    auto core = *EngineCore::create(tiny_model(), options);
    EXPECT_EQ(run(*core, request_of(prompt, 20))->prompt.reused_tokens, 0);
  }
  std::filesystem::remove_all(folder);
}

std::string text_of(TextEngine& engine, const TextRequest& request) {
  auto stream = engine.submit(request);
  EXPECT_TRUE(stream.is_ok()) << stream.status().message();
  std::string text;
  while (const auto event = (*stream)->next())
    text += event->text;
  EXPECT_TRUE((*stream)->status().is_ok()) << (*stream)->status().message();
  return text;
}

class TextEngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    LoadOptions options;
    options.engine.kv_cache_memory = uint64_t{64} << 20;
    options.engine.context = 512;
    auto engine = TextEngine::load(options);
    ASSERT_TRUE(engine.is_ok()) << engine.status().message();
    engine_ = std::move(*engine);
    request_.prompt = "Once upon a time";
    request_.sampling = engine_->default_sampling();
    request_.sampling.temperature = 0;
    request_.max_tokens = 24;
  }
  std::unique_ptr<TextEngine> engine_;
  TextRequest request_;
};

TEST_F(TextEngineTest, EndsBeforeAStopStringAcrossTokens) {
  const std::string whole = text_of(*engine_, request_);
  ASSERT_GT(whole.size(), 30U);
  const std::string stop = whole.substr(17, 9);  // begins and ends inside tokens
  request_.stop = {"never said", stop};
  EXPECT_EQ(text_of(*engine_, request_), whole.substr(0, whole.find(stop)));
  request_.include_stop = true;
  EXPECT_EQ(text_of(*engine_, request_), whole.substr(0, whole.find(stop) + stop.size()));
}

TEST_F(TextEngineTest, SubmitsFromManyThreadsGiveTheAnswersOfOne) {
  request_.sampling.temperature = 1;
  std::vector<std::string> expected;
  std::vector<std::string> heard(6);
  for (uint64_t seed = 0; seed < heard.size(); ++seed) {
    request_.sampling.seed = seed;
    expected.push_back(text_of(*engine_, request_));
  }
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < heard.size(); ++i) {
      threads.emplace_back([&, i, request = request_]() mutable {
        request.sampling.seed = i;
        heard[i] = text_of(*engine_, request);
      });
    }
  }
  EXPECT_EQ(heard, expected);
}

TEST_F(TextEngineTest, BestOfTellsTheLikeliestAnswers) {
  request_.sampling.temperature = 1.5F;
  request_.sampling.seed = 7;
  request_.n = 6;
  request_.sampling.logprobs = 0;
  std::vector<std::pair<double, std::string>> all(6);
  auto stream = *engine_->submit(request_);
  std::vector<int64_t> tokens(6);
  while (const auto event = stream->next()) {
    auto& [sum, text] = all[static_cast<size_t>(event->choice)];
    text += event->text;
    if (!event->logprobs) continue;
    sum += event->logprobs->logprob;
    ++tokens[static_cast<size_t>(event->choice)];
  }
  for (size_t i = 0; i < all.size(); ++i)
    all[i].first /= static_cast<double>(std::max<int64_t>(tokens[i], 1));
  std::ranges::sort(all, std::greater<>());
  request_.n = 1;
  request_.best_of = 6;
  EXPECT_EQ(text_of(*engine_, request_), all[0].second);
}

TEST_F(TextEngineTest, AnEmbeddingIsOneEventAfterThePrompts) {
  const auto embedding_of = [&](Pooling pooling, std::string prompt) {
    request_.pooling = pooling;
    request_.prompt = std::move(prompt);
    auto stream = *engine_->submit(request_);
    const auto report = stream->next();
    EXPECT_TRUE(report && report->kind == TextEvent::Kind::kPrompt);
    const auto event = stream->next();
    EXPECT_TRUE(event && event->kind == TextEvent::Kind::kEmbedding);
    EXPECT_FALSE(stream->next().has_value());
    EXPECT_TRUE(stream->status().is_ok()) << stream->status().message();
    return event ? event->embedding : std::vector<float>();
  };
  const auto similarity = [](const std::vector<float>& a, const std::vector<float>& b) {
    const auto dot = [](const std::vector<float>& x, const std::vector<float>& y) {
      return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
    };
    return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
  };
  const auto cat = embedding_of(Pooling::kMean, "The cat sat on the mat.");
  const auto kitten = embedding_of(Pooling::kMean, "The little cat sat on a mat.");
  const auto other = embedding_of(Pooling::kMean, "She went to the shop to buy red apples!");
  EXPECT_GT(similarity(cat, kitten), similarity(cat, other));
  EXPECT_EQ(embedding_of(Pooling::kMean, "The cat sat on the mat."), cat);
  EXPECT_NE(embedding_of(Pooling::kLast, "The cat sat on the mat."), cat);
}

TEST_F(TextEngineTest, ProgressTellsWhetherTheEngineMoves) {
  EXPECT_FALSE(engine_->progress().has_work);
  EXPECT_FALSE(engine_->progress().step_began.has_value());
  request_.sampling.ignore_eos = true;
  request_.max_tokens = 200;
  auto stream = *engine_->submit(request_);
  EXPECT_TRUE(engine_->progress().has_work);
  int64_t last = 0;
  while (stream->next()) {
    const EngineProgress progress = engine_->progress();
    EXPECT_GE(progress.steps, last);
    last = progress.steps;
  }
  EXPECT_GE(last, 190);
  while (engine_->progress().has_work)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(engine_->progress().step_began.has_value());
  EXPECT_EQ(engine_->stats().requests, 0);
}

// In a process of its own: a step that hangs never lets go of its thread.
TEST(TextEngineDeathTest, ProgressIsToldWhileAStepHangs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto watch = [] {
    LoadOptions options;
    options.engine.kv_cache_memory = uint64_t{64} << 20;
    options.engine.context = 512;
    options.engine.fault = "step:hang@3";
    auto engine = *TextEngine::load(options);
    TextRequest request;
    request.prompt = "Once upon a time";
    request.sampling = engine->default_sampling();
    auto stream = *engine->submit(request);
    int tokens = 0;
    while (tokens < 2)
      if (stream->next()->kind == TextEvent::Kind::kToken) ++tokens;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const EngineProgress before = engine->progress();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const EngineProgress after = engine->progress();
    const bool is_stuck = after.has_work && after.steps == before.steps &&
                          after.step_began.has_value() && after.step_began == before.step_began &&
                          engine->stats().requests == 1;
    ::_exit(is_stuck ? 7 : 1);
  };
  EXPECT_EXIT(watch(), ::testing::ExitedWithCode(7), "");
}

TEST(EngineThread, TellsThatItsDeviceIsLostAndRefusesRequests) {
  EngineOptions options = small_options();
  options.fault = {Fault::Kind::kStepLost, 2};
  const auto engine = *Engine::create(tiny_model(), options);
  EXPECT_TRUE(engine->lost().is_ok());
  struct Ended final : public RequestSink {
    void on_prompt(const PromptReport&) override {}
    bool on_token(int32_t, TokenId, const PositionLogprobs*) override { return true; }
    void on_finish(int32_t, FinishReason) override {}
    void on_end(const Status& status) override {
      end = status;
      ended.release();
    }
    Status end;
    std::binary_semaphore ended{0};
  };
  const auto sink = std::make_shared<Ended>();
  ASSERT_TRUE(engine->submit(request_of({1, 2}, 20), sink).is_ok());
  sink->ended.acquire();
  EXPECT_EQ(sink->end.code(), StatusCode::kInternal);
  while (engine->lost().is_ok())  // its thread is about to say so
    std::this_thread::yield();
  EXPECT_EQ(engine->submit(request_of({1, 2}, 20), sink).status().message(),
            engine->lost().message());
}

TEST(TextEngineFault, AnUnknownOneIsRefused) {
  LoadOptions options;
  options.engine.fault = "step:burn@1";
  EXPECT_THAT(TextEngine::load(options).status().message(), ::testing::HasSubstr("step:burn@1"));
}

TEST_F(TextEngineTest, ResetsItsPrefixCache) {
  const auto reused = [&] {
    auto stream = *engine_->submit(request_);
    int64_t tokens = -1;
    while (const auto event = stream->next())
      if (event->prompt != nullptr) tokens = event->prompt->reused_tokens;
    return tokens;
  };
  request_.prompt_ids = std::vector<TokenId>(60, 9);
  request_.prompt.clear();
  EXPECT_EQ(reused(), 0);
  EXPECT_EQ(reused(), 59);
  engine_->reset_prefix_cache();
  EXPECT_EQ(reused(), 0);
}

TEST_F(TextEngineTest, APausedStreamCostsNothingAndGoesOnTheSame) {
  request_.sampling.ignore_eos = true;
  request_.max_tokens = 300;
  const std::string whole = text_of(*engine_, request_);
  auto stream = *engine_->submit(request_);
  std::string text = stream->next()->text;
  stream->pause();
  while (engine_->stats().scheduler.paused == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  while (const auto event = stream->try_next())
    text += event->text;
  const int64_t steps = engine_->stats().steps;
  const std::clock_t before = std::clock();
  EXPECT_FALSE(stream->wait_for(std::chrono::milliseconds(400)));
  // Processor time of the whole process: an engine that spun would use all of it.
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.2);
  EXPECT_EQ(engine_->stats().steps, steps);
  stream->resume();
  while (const auto event = stream->next())
    text += event->text;
  EXPECT_EQ(text, whole);
}

TEST_F(TextEngineTest, APausedStreamEndsAtItsDeadline) {
  request_.sampling.ignore_eos = true;
  request_.max_tokens = 400;
  request_.timeout = std::chrono::milliseconds(300);
  auto stream = *engine_->submit(request_);
  stream->pause();
  std::optional<TextEvent> last;
  while (auto event = stream->next())
    last = std::move(event);
  EXPECT_EQ(last->reason, FinishReason::kDeadline);
  EXPECT_TRUE(stream->status().is_ok());
}

TEST_F(TextEngineTest, AStreamThatIsDroppedCancelsItsRequest) {
  request_.max_tokens = 400;
  request_.sampling.ignore_eos = true;
  {
    auto stream = *engine_->submit(request_);
    ASSERT_TRUE(stream->next().has_value());
  }
  for (int i = 0; i < 500 && engine_->stats().scheduler.running > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(engine_->stats().scheduler.running, 0);
  EXPECT_LT(engine_->stats().generated_tokens, 400);
}

}  // namespace
}  // namespace ingot

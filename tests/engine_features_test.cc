// SPDX-License-Identifier: Apache-2.0
// What the engine does for a request beyond choosing tokens: scores, beams, cancels, pauses,
// deadlines, caches that outlive it. On a tiny model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <semaphore>
#include <thread>

#include "engine/engine.h"
#include "engine_harness.h"

namespace ingot {
namespace {

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

}  // namespace
}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
// What an engine does when a step fails, when there is no memory, when its device is lost and when
// logits are no numbers. On a tiny model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine_harness.h"

namespace ingot {
namespace {

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

}  // namespace
}  // namespace ingot

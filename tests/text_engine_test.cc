// SPDX-License-Identifier: Apache-2.0
// The library's engine: text with stop strings, many threads, streams that pause, end and are
// dropped. On the embedded model.
#include "api/text_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <numeric>
#include <semaphore>
#include <thread>

#include "engine_harness.h"

namespace ingot {
namespace {

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

// SPDX-License-Identifier: Apache-2.0
// An engine with a tiny model, and a sink that keeps what it hears.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "engine/engine_core.h"
#include "wanted_device.h"

namespace ingot {

inline std::shared_ptr<const Model> tiny_model() {
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

inline EngineOptions small_options() {
  EngineOptions options;
  options.threads.threads = 2;
  options.context = 128;
  options.kv_cache_memory = uint64_t{32} << 20;
  return options;
}

inline EngineRequest request_of(std::vector<TokenId> prompt, int64_t max_tokens) {
  EngineRequest request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.sampling.temperature = 0;
  return request;
}

inline std::shared_ptr<Heard> run(EngineCore& core, EngineRequest request) {
  auto heard = std::make_shared<Heard>();
  static RequestId next = 1000;
  const Status added = core.add(next++, std::move(request), heard, Instant(0));
  EXPECT_TRUE(added.is_ok()) << added.message();
  for (int64_t step = 1; core.has_work(); ++step)
    core.step(Instant(step));
  return heard;
}

}  // namespace ingot

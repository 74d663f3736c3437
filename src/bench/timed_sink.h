// SPDX-License-Identifier: Apache-2.0
// Hears of one benchmark request: keeps its tokens and when each came, and makes text of them as
// the API does, so that this work is part of what is measured.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "api/text_sink.h"
#include "bench/bench_clock.h"
#include "engine/request.h"

namespace ingot {

// Engine thread only; the benchmark is that thread.
class TimedSink final : public RequestSink {
 public:
  // `tokenizer` may be null: then there is no text.
  explicit TimedSink(std::shared_ptr<const Tokenizer> tokenizer)
      : text_({.tokenizer = std::move(tokenizer), .stop = {}}) {}

  void on_prompt(const PromptReport& report) override {
    reused_ = report.reused_tokens;
    has_prompt_ = true;
    text_.on_prompt(report);
  }
  bool on_token(int32_t choice, TokenId id, const PositionLogprobs* logprobs) override {
    times_.push_back(BenchClock::now());
    ids_.push_back(id);
    return text_.on_token(choice, id, logprobs);
  }
  void on_finish(int32_t choice, FinishReason reason) override { text_.on_finish(choice, reason); }
  void on_end(const Status& status) override {
    text_.on_end(status);
    status_ = status;
  }

  bool has_prompt() const { return has_prompt_; }
  int64_t reused_tokens() const { return reused_; }
  const std::vector<TokenId>& ids() const { return ids_; }
  const std::vector<BenchClock::time_point>& times() const { return times_; }
  // Empty while it runs.
  const std::optional<Status>& status() const { return status_; }

 private:
  TextSink text_;
  bool has_prompt_ = false;
  int64_t reused_ = 0;
  std::vector<TokenId> ids_;
  std::vector<BenchClock::time_point> times_;
  std::optional<Status> status_;
};

}  // namespace ingot

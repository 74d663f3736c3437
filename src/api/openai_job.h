// SPDX-License-Identifier: Apache-2.0
// A parsed request on its way through the engine: submits each of its prompts and gathers their
// answers until all are over. For replies that are sent whole and waited for.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/answer_collector.h"
#include "api/loaded_model.h"
#include "api/openai_reply.h"
#include "api/openai_request.h"
#include "ingot/engine.h"

namespace ingot {

// Destroying it cancels what still runs. Single thread.
class OpenAiJob {
 public:
  // Submits all prompts, or says why the first that cannot run cannot.
  static std::variant<std::unique_ptr<OpenAiJob>, OpenAiError> start(TextEngine& engine,
                                                                     OpenAiRequest request);

  // Takes in what the engine has told; true when all is over. Waits for news as long as `time`.
  bool poll(std::chrono::milliseconds time);
  // Once over: how the first prompt that failed did.
  Status status() const { return status_; }
  // Once over and ok: the error to answer with where an answer did not come to its end.
  const std::optional<OpenAiError>& broken_off() const { return collector_.broken_off(); }
  // Once over and ok. `info.tokenizer` is filled in.
  Json reply(ReplyInfo info) const;

  const OpenAiRequest& request() const { return request_; }
  const AnswerCounts& counts() const { return collector_.counts(); }
  size_t prompts() const { return streams_.size(); }

 private:
  OpenAiJob(TextEngine& engine, OpenAiRequest request)
      : engine_(&engine),
        request_(std::move(request)),
        collector_(request_, engine.model().text.tokenizer.get()) {}

  TextEngine* engine_;
  OpenAiRequest request_;
  AnswerCollector collector_;
  std::vector<std::unique_ptr<TextStream>> streams_;  // [prompt]; null once it is over
  Status status_;
};

}  // namespace ingot

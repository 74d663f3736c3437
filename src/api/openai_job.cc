// SPDX-License-Identifier: Apache-2.0
#include "api/openai_job.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "api/openai_prompts.h"
#include "api/text_engine.h"

namespace ingot {

std::variant<std::unique_ptr<OpenAiJob>, OpenAiError> OpenAiJob::start(TextEngine& engine,
                                                                       OpenAiRequest request) {
  if (std::optional<OpenAiError> error = encode_prompts(engine, request)) return *std::move(error);
  std::unique_ptr<OpenAiJob> job(new OpenAiJob(engine, std::move(request)));
  for (const TextRequest& text : job->request_.requests) {
    Result<std::unique_ptr<TextStream>> stream = engine.submit(text);
    if (!stream.is_ok()) return to_openai_error(stream.status());
    job->streams_.push_back(*std::move(stream));
  }
  return job;
}

bool OpenAiJob::poll(std::chrono::milliseconds time) {
  bool is_over = true;
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i] == nullptr) continue;
    while (streams_[i]->wait_for(std::exchange(time, std::chrono::milliseconds(0)))) {
      std::optional<TextEvent> event = streams_[i]->next();
      if (!event) {
        if (status_.is_ok()) status_ = streams_[i]->status();
        streams_[i] = nullptr;
        break;
      }
      collector_.take(i, *std::move(event));
    }
    if (streams_[i] != nullptr) is_over = false;
  }
  return is_over;
}

Json OpenAiJob::reply(ReplyInfo info) const {
  info.tokenizer = engine_->model().text.tokenizer.get();
  return openai_reply(request_, collector_.answers(), collector_.counts(), info);
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "api/openai_job.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "api/text_engine.h"

namespace ingot {
namespace {

OpenAiError too_long(int64_t tokens, int64_t context) {
  return {
      .message = fmt::format("the prompt has {} tokens but the context holds {}", tokens, context),
      .param = {},
      .code = "context_length_exceeded"};
}

}  // namespace

std::variant<std::unique_ptr<OpenAiJob>, OpenAiError> OpenAiJob::start(TextEngine& engine,
                                                                       OpenAiRequest request) {
  std::unique_ptr<OpenAiJob> job(new OpenAiJob(engine, std::move(request)));
  const bool is_chat = job->request_.endpoint == OpenAiEndpoint::kChat;
  for (TextRequest& text : job->request_.requests) {
    Result<std::vector<TokenId>> ids = engine.prompt_ids(text);
    if (!ids.is_ok()) return to_openai_error(ids.status(), is_chat ? "messages" : "prompt");
    const auto tokens = static_cast<int64_t>(ids->size());
    // A prompt that fills the context leaves no room for an answer, if one is wanted.
    if (tokens + (text.max_tokens != 0 ? 1 : 0) > engine.context())
      return too_long(tokens, engine.context());
    CollectedAnswer& answer = job->answers_.emplace_back();
    answer.choices.resize(static_cast<size_t>(text.n));
    answer.prompt = std::exchange(text.prompt, {});
    text.messages.clear();
    text.prompt_ids = *ids;
    answer.prompt_ids = *std::move(ids);
  }
  for (const TextRequest& text : job->request_.requests) {
    Result<std::unique_ptr<TextStream>> stream = engine.submit(text);
    if (!stream.is_ok()) return to_openai_error(stream.status());
    job->streams_.push_back(*std::move(stream));
  }
  return job;
}

void OpenAiJob::take(size_t prompt, TextEvent event) {
  CollectedAnswer& answer = answers_[prompt];
  if (event.kind == TextEvent::Kind::kPrompt) {
    answer.report = std::move(event.prompt);
    return;
  }
  CollectedChoice& choice = answer.choices[static_cast<size_t>(event.choice)];
  choice.text += event.text;
  if (event.kind == TextEvent::Kind::kFinish) {
    choice.reason = event.reason;
    return;
  }
  choice.ids.push_back(event.id);
  if (event.logprobs) choice.logprobs.push_back(*std::move(event.logprobs));
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
      take(i, *std::move(event));
    }
    if (streams_[i] != nullptr) is_over = false;
  }
  return is_over;
}

Json OpenAiJob::reply(ReplyInfo info) const {
  info.tokenizer = engine_->model().text.tokenizer.get();
  return openai_reply(request_, answers_, info);
}

}  // namespace ingot

// SPDX-License-Identifier: Apache-2.0
#include "api/answer_collector.h"

#include <utility>

namespace ingot {

AnswerCollector::AnswerCollector(const OpenAiRequest& request) {
  for (const TextRequest& text : request.requests) {
    answers_.emplace_back().choices.resize(static_cast<size_t>(text.n));
    counts_.prompt_tokens += static_cast<int64_t>(text.prompt_ids.size());
  }
}

void AnswerCollector::take(size_t prompt, TextEvent event) {
  counts_.take(event);
  CollectedAnswer& answer = answers_[prompt];
  if (event.kind == TextEvent::Kind::kPrompt) {
    answer.report = std::move(event.prompt);
    return;
  }
  CollectedChoice& choice = answer.choices[static_cast<size_t>(event.choice)];
  choice.text += event.text;
  if (event.kind == TextEvent::Kind::kFinish) {
    choice.reason = event.reason;
    if (!broken_off_) broken_off_ = broken_off_error(event.reason);
    return;
  }
  choice.ids.push_back(event.id);
  if (event.logprobs) choice.logprobs.push_back(*std::move(event.logprobs));
}

}  // namespace ingot

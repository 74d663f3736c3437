// SPDX-License-Identifier: Apache-2.0
#include "api/answer_collector.h"

#include <utility>

namespace ingot {

AnswerCollector::AnswerCollector(const OpenAiRequest& request, const Tokenizer* tokenizer) {
  for (const TextRequest& text : request.requests) {
    answers_.emplace_back().choices.resize(static_cast<size_t>(text.n));
    splitters_.emplace_back();
    for (int32_t i = 0; i < text.n && !request.format.is_plain(); ++i)
      splitters_.back().emplace_back(request.format, tokenizer, true);
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
  add_text(prompt, event, choice);
  if (event.kind == TextEvent::Kind::kFinish) {
    choice.reason = event.reason;
    if (!broken_off_) broken_off_ = broken_off_error(event.reason);
    return;
  }
  choice.ids.push_back(event.id);
  if (event.logprobs) choice.logprobs.push_back(*std::move(event.logprobs));
}

void AnswerCollector::add_text(size_t prompt, TextEvent& event, CollectedChoice& choice) {
  if (splitters_[prompt].empty()) {
    choice.text += event.text;
    return;
  }
  AnswerSplitter& splitter = splitters_[prompt][static_cast<size_t>(event.choice)];
  const int64_t counted = splitter.reasoning_tokens();
  std::vector<AnswerPiece> pieces;
  splitter.take(event, pieces);
  counts_.reasoning_tokens += splitter.reasoning_tokens() - counted;
  for (AnswerPiece& piece : pieces) {
    switch (piece.kind) {
      case AnswerPiece::Kind::kContent:
        choice.text += piece.text;
        break;
      case AnswerPiece::Kind::kReasoning:
        choice.reasoning += piece.text;
        break;
      case AnswerPiece::Kind::kCall:
        choice.calls.push_back({std::move(piece.id), std::move(piece.text), {}});
        break;
      case AnswerPiece::Kind::kArguments:
        choice.calls[piece.call].arguments += piece.text;
    }
  }
}

}  // namespace ingot
